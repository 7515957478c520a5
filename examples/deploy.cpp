// A program that ships with its tuning and its kernels: a site's database decides the config, a pack brings compiled
// kernels, and nothing is compiled where it runs. (The path of NVRTC is made up here to show that none is needed.)
// Usage: deploy SITE_DIRECTORY PACK [cpu]
#include "decoder.hpp"

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: deploy SITE_DIRECTORY PACK [cpu]\n");
        return 2;
    }
    const example::Place place(count > 3 ? arguments[3] : "");
    msda::Options options = msda::Options::from_environment();
    options.site_databases = arguments[1];
    options.packs = arguments[2];
    options.disk_cache = false;
    options.nvrtc_library = "/no/compiler/here";
    msda::Runtime runtime(options);
    try {
        const msda::Operator forward = runtime.prepare(example::decoder(), place.device());
        std::printf("config (%s): %s\n", forward.config_origin().c_str(), msda::canonical(forward.config()).c_str());
        example::Tensors tensors(place, forward.problem(), 2.0f);
        const example::Stream stream(place);
        forward.launch(tensors.get(), stream.get());
        stream.wait();
        return example::verdict(place, tensors.output_is(2.0f));
    } catch (const msda::Error& error) {
        std::fprintf(stderr, "deploy: %s\n%s\n", error.what(), error.log().c_str());
        return 1;
    }
}
