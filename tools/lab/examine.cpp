#include "tools/lab/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "msda/error.hpp"
#include "tools/lab/checks.hpp"
#include "tools/lab/isolated.hpp"
#include "tools/lab/sections.hpp"

namespace fs = std::filesystem;

namespace msda::lab {
namespace {

// The sections of a lab's files, the learner's and the solution's; the latter stays empty where it was removed.
struct Texts {
    std::map<std::string, Section> learner, solution;

    explicit Texts(const Lab& lab) {
        for (const std::string& file : lab.files) {
            const fs::path own = lab.folder / file, reference = lab.folder / "solution" / file;
            learner.merge(sections(read_text(own), own.string()));
            if (fs::exists(reference)) solution.merge(sections(read_text(reference), reference.string()));
        }
    }
};

// Chooses, for the stage being judged, whose text each section is.
class Chooser {
  public:
    Chooser(const Lab& lab, const Examination& how, const Progress& progress, std::vector<std::string>& stand_ins)
        : lab_(lab), how_(how), progress_(progress), stand_ins_(stand_ins), own_(lab) {}

    const Section& learners(const std::string& section) const { return at(own_.learner, section, lab_); }

    // The section to judge a stage by.
    const Section& judged(const Stage& stage) const {
        return at(how_.solution ? own_.solution : own_.learner, stage.section, lab_);
    }

    Section choose(const std::string& name, std::size_t stage, const std::vector<Verdict>& verdicts) {
        if (name.find('/') != std::string::npos) return from_other_lab(name);
        if (how_.solution) return at(own_.solution, name, lab_);
        const bool known = own_.solution.contains(name);
        if (name == lab_.stages[stage].section || !is_stage(name)) return learners(name);
        bool earlier = false;
        for (std::size_t i = 0; i < lab_.stages.size(); i++) {
            if (lab_.stages[i].section != name) continue;
            if (verdicts[i].state == State::passed) return learners(name);
            earlier = earlier || i < stage;
        }
        if (!known) {
            if (earlier && how_.only.empty() && learners(name).attempted()) unhelped_.insert(name);
            return learners(name);
        }
        if (earlier && how_.only.empty()) stood_in_[name] = learners(name).attempted();
        return at(own_.solution, name, lab_);
    }

    // Whose text a section is when the file is taken as a whole.
    Section whole(const std::string& name) {
        if (name.find('/') != std::string::npos) return from_other_lab(name);
        return how_.solution ? at(own_.solution, name, lab_) : learners(name);
    }

    // Adds the sentences on this lab's own sections that the solution stood in for, or could not.
    void finish(const std::vector<Verdict>& verdicts) {
        std::string list;
        for (const auto& [name, attempted] : stood_in_)
            list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name,
                                attempted ? "does not pass" : "is not written");
        if (!list.empty())
            say(fmt::format("In later stages the reference solution stood in for these parts of yours: {}.", list));
        // Later failures may come from these alone; where nothing else fails there is nothing to say.
        const auto fails = [](const Verdict& verdict) { return verdict.state == State::failed && verdict.compiles; };
        if (!unhelped_.empty() && std::count_if(verdicts.begin(), verdicts.end(), fails) > 1)
            say(
                fmt::format("No solution is there to stand in, so later stages used these parts of yours, which do not "
                            "pass: {}. Mend them first.",
                            fmt::join(unhelped_, ", ")));
    }

  private:
    static const Section& at(const std::map<std::string, Section>& all, const std::string& name, const Lab& lab) {
        const auto found = all.find(name);
        if (found == all.end())
            throw Error(Code::bad_file,
                        fmt::format("labs: the files of lab {} have no section \"// >>> {}\"; its marks "
                                    "must stay where they are",
                                    lab.number, name));
        return found->second;
    }

    bool is_stage(const std::string& section) const {
        return std::any_of(lab_.stages.begin(), lab_.stages.end(),
                           [&](const Stage& s) { return s.section == section; });
    }

    Section from_other_lab(const std::string& name) {
        const std::string number = name.substr(0, name.find('/')), section = name.substr(name.find('/') + 1);
        const Lab other = load_lab(how_.root, number);
        const Texts texts(other);
        if (how_.solution) return at(texts.solution, section, other);
        const Section& own = at(texts.learner, section, other);
        const bool passes = std::all_of(other.stages.begin(), other.stages.end(), [&](const Stage& stage) {
            return stage.section != section || progress_.has_passed(other.check_name(stage), own.text);
        });
        if (passes || !texts.solution.contains(section)) return own;
        say(fmt::format("This lab builds on {}, which {}; the reference solution stands in for it.", name,
                        own.attempted() ? "has not passed in your files yet" : "is not written yet"));
        return at(texts.solution, section, other);
    }

    void say(const std::string& sentence) {
        if (std::find(stand_ins_.begin(), stand_ins_.end(), sentence) == stand_ins_.end())
            stand_ins_.push_back(sentence);
    }

    const Lab& lab_;
    const Examination& how_;
    const Progress& progress_;
    std::vector<std::string>& stand_ins_;
    Texts own_;
    std::map<std::string, bool> stood_in_;  // section, and whether the learner has attempted it
    std::set<std::string> unhelped_;        // sections that do not pass and that no solution can stand in for
};

// The composed files of one stage, in a directory of their own, and the module built from them.
struct Built {
    emulation::PrivateDirectory directory;
    std::string source;
    std::vector<std::string> flags;
    std::unique_ptr<StudentModule> module;
};

std::unique_ptr<Built> build(const Lab& lab, const fs::path& root,
                             const std::function<Section(const std::string&)>& choose) {
    auto built = std::make_unique<Built>();
    for (const std::string& file : lab.files) {
        const fs::path path = lab.folder / file;
        const std::string text = compose(read_text(path), path.string(), choose);
        std::ofstream(built->directory.path() / file, std::ios::binary) << text;
        if (file == lab.files.front()) built->source = text;
    }
    built->flags = {"-I" + built->directory.path().string(), "-I" + (root / "common").string(), "-Wno-unused-value"};
    built->module = std::make_unique<StudentModule>(built->source, built->flags);
    return built;
}

}  // namespace

std::string_view name(State state) {
    constexpr std::string_view names[] = {"passed", "failed", "not attempted", "skipped"};
    return names[static_cast<std::size_t>(state)];
}

std::vector<Verdict> examine(const Lab& lab, const Examination& how, Progress& progress,
                             std::vector<std::string>& stand_ins) {
    Chooser chooser(lab, how, progress, stand_ins);
    std::vector<Verdict> verdicts(lab.stages.size());
    std::unique_ptr<Built> built;
    std::string built_from;
    for (std::size_t i = 0; i < lab.stages.size(); i++) {
        const Stage& stage = lab.stages[i];
        if (!chooser.judged(stage).attempted() || (!how.only.empty() && how.only != stage.name)) continue;
        const auto choose = [&](const std::string& section) { return chooser.choose(section, i, verdicts); };
        try {
            // The text decides what is built: stages that are judged on the same one share a module.
            std::string all;
            for (const std::string& file : lab.files)
                all += compose(read_text(lab.folder / file), (lab.folder / file).string(), choose);
            if (built == nullptr || all != built_from) built = build(lab, how.root, choose);
            built_from = all;
            Attempt attempt{*built->module,      built->source,
                            built->flags,        built->directory.path().string(),
                            lab.folder.string(), (how.root / "common").string()};
            verdicts[i] = run_isolated(find_check(lab.check_name(stage)), attempt, how.limit_s);
        } catch (const Error& error) {
            if (error.code() != Code::compile_failed) throw;
            built.reset();
            verdicts[i] = {State::failed, "does not compile", error.log(), {}, false};
        }
        if (verdicts[i].state == State::passed && !how.solution)
            progress.passed(lab.check_name(stage), chooser.learners(stage.section).text);
    }
    chooser.finish(verdicts);
    return verdicts;
}

std::string whole_text(const Lab& lab, const Examination& how, const Progress& progress,
                       std::vector<std::string>& stand_ins) {
    Chooser chooser(lab, how, progress, stand_ins);
    const fs::path file = lab.folder / lab.files.front();
    return compose(read_text(file), file.string(), [&](const std::string& name) { return chooser.whole(name); });
}

}  // namespace msda::lab
