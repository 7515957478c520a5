// A strict reader of the few Python literals that NumPy writes.
#include "runtime/npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <stdexcept>

namespace msda {
namespace {

class HeaderReader {
  public:
    explicit HeaderReader(std::string_view text) : text_(text) {}

    NpyHeader read() {
        NpyHeader header;
        bool descr = false, order = false, shape = false;
        expect('{');
        while (!take('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr) {
                header.descr = quoted();
                descr = true;
            } else if (key == "fortran_order" && !order) {
                header.fortran_order = boolean();
                order = true;
            } else if (key == "shape" && !shape) {
                header.shape = tuple();
                shape = true;
            } else {
                fail(fmt::format("unexpected key '{}'", key));
            }
            if (take('}')) return finish(header, descr && order && shape);
            expect(',');
        }
        return finish(header, descr && order && shape);
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument(fmt::format("{} at column {} of the header", what, at_ + 1));
    }
    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) at_++;
    }
    bool take(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        at_++;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(fmt::format("expected '{}'", c));
    }
    std::string quoted() {
        const char quote = take('"') ? '"' : '\'';
        if (quote == '\'') expect('\'');
        const std::size_t end = text_.find(quote, at_);
        if (end == std::string_view::npos || end - at_ > 64) fail("unterminated string");
        std::string value(text_.substr(at_, end - at_));
        at_ = end + 1;
        return value;
    }
    bool boolean() {
        skip_space();
        for (const bool value : {false, true}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                return value;
            }
        }
        fail("expected True or False");
    }
    std::vector<std::int64_t> tuple() {
        std::vector<std::int64_t> values;
        expect('(');
        while (!take(')')) {
            skip_space();
            std::int64_t value = 0;
            const char* begin = text_.data() + at_;
            const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
            if (error != std::errc{} || value < 0) fail("expected a length of at least 0");
            at_ += static_cast<std::size_t>(end - begin);
            values.push_back(value);
            if (values.size() > 32) fail("more than 32 dimensions");
            if (take(')')) return values;
            expect(',');
        }
        return values;
    }
    NpyHeader finish(const NpyHeader& header, bool complete) {
        if (!complete) fail("missing one of descr, fortran_order and shape");
        skip_space();
        if (at_ != text_.size()) fail("trailing text");
        return header;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return HeaderReader(text).read(); }

std::string format_npy_header(const NpyHeader& header) {
    return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", header.descr,
                       header.fortran_order ? "True" : "False", fmt::join(header.shape, ", "),
                       header.shape.size() == 1 ? "," : "");
}

}  // namespace msda
