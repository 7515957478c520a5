// A plain table for people: columns as wide as their widest entry, numbers to the right.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace msda::cli {

class Table {
  public:
    explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

    // As many cells as the header has.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    bool empty() const { return rows_.empty(); }
    void print(std::ostream& out) const;

  private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace msda::cli
