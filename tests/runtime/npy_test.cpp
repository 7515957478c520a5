// Arrays survive a round trip; damaged, foreign and hostile files are refused with a reason.
#include "runtime/npy.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "msda/error.hpp"
#include "runtime/npy_header.hpp"

namespace {

using namespace msda;
namespace fs = std::filesystem;

// A folder of its own, removed at the end.
struct Folder {
    fs::path path = fs::temp_directory_path() / ("msda_npy_test_" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

void put(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string file_of(std::string_view header, std::size_t data_bytes, char version = 1) {
    std::string file = std::string("\x93NUMPY") + version + '\0';
    const std::size_t n = header.size();
    file += static_cast<char>(n & 0xff);
    file += static_cast<char>(n >> 8 & 0xff);
    if (version > 1) file.append(2, '\0');
    return file.append(header).append(data_bytes, 'x');
}

// The message of the Error that reading gives; checks its code.
std::string refusal(const fs::path& path, Code code = Code::bad_file) {
    try {
        (void)read_npy(path);
    } catch (const Error& error) {
        CHECK(error.code() == code);
        return error.what();
    }
    FAIL("was read");
    return {};
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("npy: every type and rank survives a round trip, elements at a multiple of 64 bytes") {
        const Folder folder;
        const fs::path path = folder.path / "a.npy";
        const std::array<double, 6> data = {1, -2, 3, 1e300, -0.0, 5};
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3})
            for (const std::vector<std::int64_t>& shape :
                 {std::vector<std::int64_t>{}, {6}, {2, 3}, {1, 2, 1, 3}, {4, 0, 2}}) {
                write_npy(path, type, shape, data.data());
                const NpyArray array = read_npy(path);
                CHECK(array.shape == shape);
                const HostBuffer tensor = read_npy(path, type, shape);
                REQUIRE(tensor.bytes() == static_cast<std::size_t>(array.elements()) * bytes_of(type));
                CHECK((tensor.bytes() == 0 || std::memcmp(tensor.data(), data.data(), tensor.bytes()) == 0));
                CHECK((fs::file_size(path) - tensor.bytes()) % 64 == 0);
            }
        const std::array<std::int64_t, 2> levels = {-5, std::int64_t{1} << 40};
        write_npy(path, std::array<std::int64_t, 1>{2}, levels.data());
        const NpyArray array = read_npy(path);
        CHECK(array.descr == "<i8");
        CHECK(std::memcmp(array.data.data(), levels.data(), 16) == 0);
    }

    TEST_CASE("npy: versions 2 and 3, other key orders and spacing are read") {
        const Folder folder;
        const fs::path path = folder.path / "a.npy";
        for (const char version : {char{1}, char{2}, char{3}}) {
            put(path, file_of("{'shape':(3,),\"descr\": '<f2' , 'fortran_order':False}   \n", 6, version));
            CHECK(read_npy(path).shape == std::vector<std::int64_t>{3});
        }
        put(path, file_of("{'descr': '<u2', 'fortran_order': False, 'shape': (2, ), }", 4));
        CHECK(read_npy(path, Type::bf16, std::array<std::int64_t, 1>{2}).bytes() == 4);
    }

    TEST_CASE("npy: what is wrong with a file is said") {
        const Folder folder;
        const fs::path path = folder.path / "a.npy";
        CHECK(mentions(refusal(folder.path / "absent.npy", Code::io_failed), "absent.npy"));
        put(path, "PK\x03\x04 a zip file");
        CHECK(mentions(refusal(path), "not a .npy file"));
        put(path, file_of("{}", 0, 9));
        CHECK(mentions(refusal(path), "version 9.0"));
        put(path, file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16));
        CHECK(mentions(refusal(path), "Fortran order"));
        put(path, file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }", 16));
        CHECK(mentions(refusal(path), "'>f4'"));
        put(path, file_of("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", 16));
        CHECK(mentions(refusal(path), "'|O'"));
        put(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 15));
        CHECK(mentions(refusal(path), "15"));
        put(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 17));
        CHECK(mentions(refusal(path), "got 17"));
        put(path,
            file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
                    16));
        CHECK(mentions(refusal(path), "needs more"));
        put(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16));
        for (std::uintmax_t size = 0; size < fs::file_size(path); size += 7) {
            const fs::path cut = folder.path / "cut.npy";
            fs::copy_file(path, cut, fs::copy_options::overwrite_existing);
            fs::resize_file(cut, size);
            CHECK(!refusal(cut).empty());
        }
    }

    TEST_CASE("npy: headers that are no dictionary of the three keys are refused") {
        for (const char* text :
             {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
              "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
              "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
              "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
              "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
              "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "{'descr': '<f4', 'x': 1}",
              "{'descr: '<f4', 'fortran_order': False, 'shape': (3,)}",
              "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
              "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}"}) {
            CAPTURE(text);
            CHECK_THROWS_AS((void)parse_npy_header(text), std::invalid_argument);
        }
        const NpyHeader header = parse_npy_header(format_npy_header({"<f4", false, {3, 4}}));
        CHECK(header.shape == std::vector<std::int64_t>{3, 4});
    }

    TEST_CASE("npy: of an empty array the other lengths may be anything") {
        const Folder folder;
        const fs::path path = folder.path / "empty.npy";
        std::string header =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807, 0), }";
        header.append(118 - header.size(), ' ');
        std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\1\0\x76\0", 10) << header;
        CHECK(read_npy(path).elements() == 0);
    }

    TEST_CASE("npy: a tensor of another type or shape is named") {
        const Folder folder;
        const fs::path path = folder.path / "a.npy";
        const std::array<float, 6> data{};
        const std::array<std::int64_t, 2> shape = {2, 3}, turned = {3, 2};
        write_npy(path, Type::f32, shape, data.data());
        CHECK_THROWS_WITH_AS((void)read_npy(path, Type::f16, shape),
                             doctest::Contains("expected '<f2' (f16), got '<f4'"), Error);
        CHECK_THROWS_WITH_AS((void)read_npy(path, Type::f32, turned), doctest::Contains("expected (3, 2), got (2, 3)"),
                             Error);
    }

    TEST_CASE("npy: a file that cannot be written is an error and leaves nothing") {
        const std::array<std::int64_t, 1> shape = {1};
        const float one = 1;
        CHECK_THROWS_AS(write_npy("/nonexistent/folder/a.npy", Type::f32, shape, &one), Error);
        if (fs::exists("/dev/full")) {
            try {
                const fs::path link = fs::temp_directory_path() / ("msda_npy_full_" + std::to_string(::getpid()));
                fs::create_symlink("/dev/full", link);
                CHECK_THROWS_AS(write_npy(link, Type::f32, shape, &one), Error);
                CHECK(!fs::is_symlink(link));
            } catch (const fs::filesystem_error&) {
                MESSAGE("no symbolic links here");
            }
        }
    }
}
