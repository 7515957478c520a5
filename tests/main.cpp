// The main of msda_tests: doctest's own, plus a count of the cases that skipped themselves. A case skips by
// MESSAGE("skipped: why") and a return, as GPU cases do where there is no GPU; doctest alone would count it as passed.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <ostream>
#include <string_view>

namespace {

// Prints "[msda] passed=N failed=N skipped=N" as the last line; tools/test adds up these lines.
class CaseCounter : public doctest::IReporter {
  public:
    explicit CaseCounter(const doctest::ContextOptions& options) : out_(*options.cout) {}

    void test_case_start(const doctest::TestCaseData&) override { skipped_ = false; }
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        int& count = stats.failure_flags != 0 ? failed_total_ : skipped_ ? skipped_total_ : passed_total_;
        ++count;
    }
    void log_message(const doctest::MessageData& message) override {
        skipped_ = skipped_ || std::string_view(message.m_string.c_str()).substr(0, 7) == "skipped";
    }
    void test_run_end(const doctest::TestRunStats&) override {
        out_ << "[msda] passed=" << passed_total_ << " failed=" << failed_total_ << " skipped=" << skipped_total_
             << std::endl;
    }

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}

  private:
    std::ostream& out_;
    bool skipped_ = false;
    int passed_total_ = 0;
    int failed_total_ = 0;
    int skipped_total_ = 0;
};

DOCTEST_REGISTER_LISTENER("msda_count", 1, CaseCounter);

}  // namespace
