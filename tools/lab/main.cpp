// The `msda-lab` command: lists the labs and checks the learner's files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "msda/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/lab/device_source.hpp"
#include "tools/lab/examine.hpp"

namespace fs = std::filesystem;
using namespace msda;
using namespace msda::lab;

namespace {

// The hints that this many failing checks in a row have earned.
void print_hints(const Stage& stage, int failures) {
    const std::size_t earned = std::min(static_cast<std::size_t>(failures), stage.hints.size());
    for (std::size_t i = 0; i < earned; i++) std::cout << fmt::format("  hint {}: {}\n", i + 1, stage.hints[i]);
    if (earned < stage.hints.size()) std::cout << "  (the next failing check of this stage says more)\n";
}

// A note of several lines begins on a line of its own, indented.
void print_note(const Stage& stage, std::string note) {
    if (note.find('\n') != std::string::npos) {
        for (std::size_t at = 0; (at = note.find('\n', at)) != std::string::npos; at += 3) note.insert(at + 1, "  ");
        note.insert(0, "\n  ");
    } else {
        note.insert(0, " ");
    }
    std::cout << fmt::format("\n{}:{}\n", stage.name, note);
}

void print_verdict(const Lab& lab, const Stage& stage, const Verdict& verdict, bool solution, Progress& progress) {
    if (verdict.state == State::failed) {
        std::cout << fmt::format("\n{}: {}\n{}", stage.name, verdict.message, verdict.log);
        // What does not compile has no answer yet: it costs no hint.
        if (!solution && verdict.compiles) print_hints(stage, progress.failed(lab.check_name(stage)));
    }
    if (verdict.state == State::skipped) std::cout << fmt::format("\n{}: skipped: {}\n", stage.name, verdict.message);
    for (const std::string& note : verdict.notes) print_note(stage, note);
}

// Checks one lab and prints its table; returns whether every stage passed (or cannot run here).
bool check(const Lab& lab, const Examination& how, Progress& progress) {
    std::vector<std::string> stand_ins;
    const std::vector<Verdict> verdicts = examine(lab, how, progress, stand_ins);
    std::cout << fmt::format("Lab {}: {}\n", lab.number, lab.title);
    cli::Table table({"stage", "what", "result"});
    bool all = true;
    for (std::size_t i = 0; i < verdicts.size(); i++) {
        if (!how.only.empty() && how.only != lab.stages[i].name) continue;
        table.add({lab.stages[i].name, lab.stages[i].title, std::string(name(verdicts[i].state))});
        all = all && (verdicts[i].state == State::passed || verdicts[i].state == State::skipped);
    }
    if (table.empty())
        throw Error(Code::invalid_argument, fmt::format("labs: lab {} has no stage {}", lab.number, how.only));
    table.print(std::cout);
    std::string log;  // the compiler's messages come once
    for (std::size_t i = 0; i < verdicts.size(); i++) {
        Verdict verdict = verdicts[i];
        if (!verdict.compiles && std::exchange(log, verdict.log) == verdict.log) verdict.log.clear();
        print_verdict(lab, lab.stages[i], verdict, how.solution, progress);
    }
    for (const std::string& sentence : stand_ins) std::cout << '\n' << sentence << '\n';
    return all;
}

// Prints the PTX that NVRTC makes of a lab's kernels.
void compile(const Lab& lab, const Examination& how, int capability) {
    if (!lab.files.front().ends_with(".cu"))
        throw Error(Code::invalid_argument, fmt::format("labs: lab {} has no file of kernels (*.cu)", lab.number));
    std::vector<std::string> stand_ins;
    const DeviceSource source(whole_text(lab, how, Progress(how.root), stand_ins), (how.root / "common").string());
    std::cout << source.ptx(capability);
    for (const std::string& sentence : stand_ins) std::cerr << sentence << '\n';
}

void list(const fs::path& root) {
    cli::Table table({"lab", "title", "folder"});
    for (const std::string& number : lab_numbers(root)) {
        const Lab lab = load_lab(root, number);
        table.add({number, lab.title, lab.folder.filename().string()});
    }
    table.print(std::cout);
}

// The command line, and what it asked for.
struct CommandLine {
    CLI::App app{"Checks the labs of the course. A lab's README.md says what to write.", "msda-lab"};
    CLI::App *list, *check, *compile;
    std::string root = MSDA_LABS;
    std::vector<std::string> labs;
    std::string architecture = "sm_90";
    Examination how;

    CommandLine()
        : list(app.add_subcommand("list", "the labs there are")),
          check(app.add_subcommand("check", "check what you wrote for a lab; exit status 1 until all of it passes")),
          compile(app.add_subcommand("compile", "print the PTX that NVRTC makes of a lab's kernels; needs no GPU")) {
        app.require_subcommand(1);
        app.add_option("--labs", root, "folder of the labs (a copy works as well as the original)")
            ->capture_default_str();
        check->add_option("lab", labs, "number of the lab, or \"all\"")->required();
        check->add_option("--stage", how.only, "only this stage");
        check->add_option("--limit", how.limit_s, "seconds of processor time a stage's check may take")
            ->capture_default_str();
        compile->add_option("lab", labs, "number of the lab")->required()->expected(1);
        compile->add_option("--arch", architecture, "sm_90 or the like")->capture_default_str();
        for (CLI::App* command : {check, compile})
            command->add_flag("--solution", how.solution, "take the reference solution instead of your files");
    }
};

int capability_of(const std::string& architecture) {
    const bool right = architecture.starts_with("sm_") && architecture.size() > 4 && architecture.size() < 7 &&
                       architecture.find_first_not_of("0123456789", 3) == std::string::npos;
    if (!right)
        throw Error(Code::invalid_argument,
                    fmt::format("--arch: expected sm_90 or the like, got '{}'", architecture.substr(0, 64)));
    return std::stoi(architecture.substr(3));
}

int run(int argc, char** argv) {
    CommandLine line;
    try {
        line.app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return line.app.exit(error) == 0 ? 0 : 2;
    }
    Examination& how = line.how;
    how.root = fs::absolute(line.root).lexically_normal();
    if (line.list->parsed()) {
        list(how.root);
        return 0;
    }
    if (line.compile->parsed()) {
        compile(load_lab(how.root, line.labs.front()), how, capability_of(line.architecture));
        return 0;
    }
    if (line.labs == std::vector<std::string>{"all"}) line.labs = lab_numbers(how.root);
    Progress progress(how.root);
    bool all = true;
    for (const std::string& number : line.labs) {
        if (number != line.labs.front()) std::cout << '\n';
        all = check(load_lab(how.root, number), how, progress) && all;
        std::cout << std::flush;
        if (!how.solution) progress.save();
    }
    return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        std::cerr << "msda-lab: " << error.what() << '\n' << error.log();
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "msda-lab: " << error.what() << '\n';
        return 2;
    }
}
