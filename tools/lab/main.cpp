// The `msda-lab` command: lists the labs and checks the learner's files.
#include <fmt/color.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "msda/error.hpp"
#include "tools/cli/table.hpp"
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
        if (!solution) print_hints(stage, progress.failed(lab.check_name(stage)));
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
    for (std::size_t i = 0; i < verdicts.size(); i++)
        print_verdict(lab, lab.stages[i], verdicts[i], how.solution, progress);
    for (const std::string& sentence : stand_ins) std::cout << '\n' << sentence << '\n';
    return all;
}

void list(const fs::path& root) {
    cli::Table table({"lab", "title", "folder"});
    for (const std::string& number : lab_numbers(root)) {
        const Lab lab = load_lab(root, number);
        table.add({number, lab.title, lab.folder.filename().string()});
    }
    table.print(std::cout);
}

int run(int argc, char** argv) {
    CLI::App app("Checks the labs of the course. A lab's README.md says what to write.", "msda-lab");
    app.require_subcommand(1);
    std::string root = MSDA_LABS;
    app.add_option("--labs", root, "folder of the labs (a copy works as well as the original)")->capture_default_str();
    auto* list_command = app.add_subcommand("list", "the labs there are");
    auto* check_command =
        app.add_subcommand("check", "check what you wrote for a lab; exit status 1 until all of it passes");
    std::vector<std::string> labs;
    Examination how;
    check_command->add_option("lab", labs, "number of the lab, or \"all\"")->required();
    check_command->add_option("--stage", how.only, "only this stage");
    check_command->add_option("--limit", how.limit_s, "seconds of processor time a stage's check may take")
        ->capture_default_str();
    check_command->add_flag("--solution", how.solution, "check the reference solution instead of your files");
    CLI11_PARSE(app, argc, argv);
    how.root = fs::absolute(root).lexically_normal();
    if (list_command->parsed()) {
        list(how.root);
        return 0;
    }
    if (labs == std::vector<std::string>{"all"}) labs = lab_numbers(how.root);
    Progress progress(how.root);
    bool all = true;
    for (const std::string& number : labs) {
        if (number != labs.front()) std::cout << '\n';
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
    } catch (const std::exception& error) {
        std::cerr << "msda-lab: " << error.what() << '\n';
        return 2;
    }
}
