// The labs' files as NVRTC gets them: a text, and the texts that it may include.
#pragma once

#include <map>
#include <string>

#include "runtime/compiler.hpp"

namespace msda::lab {

class DeviceSource {
  public:
    // The headers of `common_folder` and of templates/ come along.
    DeviceSource(std::string source, const std::string& common_folder);
    // A further file that the source may include.
    void add(std::string name, std::string text) { headers_[std::move(name)] = std::move(text); }

    // The request to compile it; valid as long as this object. `capability` is 10 · major + minor.
    CompileRequest request(int capability) const;

    // PTX for one architecture. Throws Error: no_compiler, unsupported, compile_failed (with log).
    std::string ptx(int capability) const;

  private:
    std::string source_;
    std::map<std::string, std::string> headers_;
};

}  // namespace msda::lab
