// Packs: what is written is read back, damage is refused part by part, foreign files are not trusted.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "msda/error.hpp"
#include "runtime/digest.hpp"
#include "runtime/pack/packs.hpp"
#include "tests/tuning_db/example.hpp"

using namespace msda;
using namespace msda::test;

namespace {

PackedKernels kernels(const std::string& digest, int capability, const std::string& code) {
    PackedKernels k;
    k.source_digest = digest;
    k.capability = capability;
    k.problem = canonical(decoder());
    k.config = canonical(default_config(decoder(), h200()));
    k.kernels = {"forward"};
    k.binary.target.capability = capability;
    k.binary.bytes = code;
    return k;
}

PackContent content() {
    PackContent c;
    c.generator = "0.1.0";
    c.database.add(record_of(decoder(), h200()));
    c.kernels = {kernels("b", 90, std::string("\0cubin of b\n", 12)), kernels("a", 90, "cubin of a"),
                 kernels("a", 80, "cubin of a for sm_80"), kernels("a", 90, "another one")};
    return c;
}

std::string why_refused(const std::string& bytes) {
    try {
        PackFile(bytes, "x.pack");
    } catch (const Error& error) {
        CHECK(error.code() == Code::bad_file);
        return error.what();
    }
    return {};
}

struct Sink {
    std::vector<std::string> messages;
    Warnings warnings{[this](const std::string& message) { messages.push_back(message); }};
};

// A pack with that manifest, which fits its digest, and no parts.
std::string with_manifest(const std::string& manifest) {
    std::string bytes = "MSDAPACK" + std::string("\1\0\0\0\0\0\0\0", 8);
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(manifest.size() >> shift & 0xff);
    for (const std::uint8_t byte : digest_of(manifest)) bytes += static_cast<char>(byte);
    return bytes + manifest;
}

std::string put(const TemporaryDirectory& directory, const std::string& name, const std::string& bytes) {
    const std::string path = directory / name;
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), 0644);
    return path;
}

}  // namespace

TEST_SUITE_BEGIN("pack");

TEST_CASE("a pack gives back records and code") {
    const PackFile pack(write_pack(content()), "x.pack");
    CHECK(pack.generator() == "0.1.0");
    CHECK(pack.database() == content().database);
    REQUIRE(pack.entries().size() == 3);
    REQUIRE(pack.find("a", 80));
    CHECK(pack.binary(*pack.find("a", 80)).bytes == "cubin of a for sm_80");
    CHECK(pack.binary(*pack.find("a", 90)).bytes == "cubin of a");
    const Binary b = pack.binary(*pack.find("b", 90));
    CHECK(b.bytes == content().kernels[0].binary.bytes);
    CHECK(b.target.architecture() == "sm_90");
    CHECK(pack.find("b", 80) == nullptr);
    CHECK(pack.find("b", 90)->kernels.kernels == std::vector<std::string>{"forward"});
}

TEST_CASE("equal content gives equal bytes in any order") {
    PackContent reversed = content();
    std::swap(reversed.kernels[0], reversed.kernels[2]);
    CHECK(write_pack(reversed) == write_pack(content()));
    CHECK(write_pack({}) == write_pack({}));
}

TEST_CASE("each byte damaged: refused at once, or when its part is taken, and the other parts stay") {
    const std::string good = write_pack(content());
    const PackFile whole(good, "x.pack");
    for (std::size_t at = 0; at < good.size(); at++) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
        if (at >= 12 && at < 16) continue;  // reserved
        if (at < whole.entries()[0].offset && !why_refused(bytes).empty()) continue;
        const PackFile pack(bytes, "x.pack");
        int damaged = 0;
        for (const auto& entry : pack.entries()) try {
                pack.binary(entry);
            } catch (const Error& error) {
                damaged++;
                CHECK(std::string(error.what()).find("damaged") != std::string::npos);
            }
        try {
            pack.database();
        } catch (const Error&) {
            damaged++;
        }
        REQUIRE(damaged == 1);
    }
}

TEST_CASE("cut off, foreign, newer and oversized files are refused") {
    const std::string good = write_pack(content());
    for (std::size_t length = 0; length < good.size(); length += 13)
        CHECK_FALSE(why_refused(good.substr(0, length)).empty());
    CHECK(why_refused("#!/bin/sh\n" + std::string(100, 'x')).find("not a pack") != std::string::npos);
    std::string newer = good;
    newer[8] = 2;
    CHECK(why_refused(newer).find("newer msda (pack format 2)") != std::string::npos);
    std::string endless = good;
    endless[23] = 0x7f;
    CHECK(why_refused(endless).find("longer than the file") != std::string::npos);
}

TEST_CASE("numbers of a manifest are whole and in range, its depth is limited") {
    const std::string place = R"("offset":0,"bytes":0,"digest":"")";
    const auto manifest = [&](const std::string& database, const std::string& kernels) {
        return with_manifest(R"({"generator":"0.1.0","database":{)" + database + R"(},"kernels":[)" + kernels + "]}");
    };
    CHECK(why_refused(manifest(place, "")).empty());
    for (const char* number : {"-1", "0.5", "1e300", "-1e300", "18446744073709551615", "\"0\"", "null"}) {
        const std::string wrong = std::string(R"("offset":)") + number + R"(,"bytes":0,"digest":"")";
        CHECK(why_refused(manifest(wrong, "")).find("'offset' is no integer") != std::string::npos);
        const std::string kernels = "{" + place + R"(,"source_digest":"","problem":"","config":"","kernels":[],)" +
                                    R"("format":"cubin","suffix":"","target":90,"capability":)" + number + "}";
        CHECK(why_refused(manifest(place, kernels)).find("'capability' is no integer") != std::string::npos);
    }
    const std::string far = R"("offset":9223372036854775807,"bytes":9223372036854775807,"digest":"")";
    CHECK(why_refused(manifest(far, "")).find("beyond the end") != std::string::npos);
    CHECK(why_refused(manifest(place, std::string(100'000, '['))).find("nested deeper") != std::string::npos);
    CHECK(why_refused(with_manifest("[]")).find("expected an object") != std::string::npos);
    CHECK(why_refused(with_manifest("{")).find("not valid JSON") != std::string::npos);
}

TEST_CASE("packs are searched in order; what cannot be used costs one warning") {
    const TemporaryDirectory directory;
    const FileSystem files;
    PackContent second = content();
    second.kernels = {kernels("a", 90, "second"), kernels("c", 90, "only here")};
    std::string damaged = write_pack(content());
    damaged.back() = static_cast<char>(damaged.back() ^ 1);  // the code of b
    Sink sink;
    Packs packs(files, sink.warnings,
                {put(directory, "damaged.pack", damaged), put(directory, "second.pack", write_pack(second)),
                 put(directory, "junk.pack", "junk"), directory / "missing.pack"});
    CHECK(packs.find("a", 90)->bytes == "cubin of a");
    CHECK(packs.find("c", 90)->bytes == "only here");
    CHECK_FALSE(packs.find("b", 90).has_value());
    CHECK_FALSE(packs.find("b", 90).has_value());
    CHECK_FALSE(packs.find("d", 90).has_value());
    CHECK(sink.messages.size() == 3);
    REQUIRE(packs.layers().size() == 2);
    CHECK(packs.layers()[0].database.size() == 1);
}

TEST_CASE("a pack that others can write is not used") {
    const TemporaryDirectory directory;
    const std::string path = put(directory, "a.pack", write_pack(content()));
    CHECK_NOTHROW(open_pack(FileSystem(), path));
    chmod(path.c_str(), 0666);
    try {
        open_pack(FileSystem(), path);
        FAIL("trusted");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("nobody else can write") != std::string::npos);
    }
}

TEST_SUITE_END();
