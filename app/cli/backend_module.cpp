#include "app/cli/backend_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "engine/support/numbers.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

Error cannot_open(std::string sentence) { return make_error(ErrorKind::Unsupported, std::move(sentence)); }

Result<const BackendModule*> open_library(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* text = dlerror();
        const std::string why = text == nullptr ? "unknown reason" : text;
        if (why.find("libcublas") != std::string::npos)
            return cannot_open(fmt::format("cuBLAS is not installed here ({}).", why));
        return cannot_open(fmt::format("The library of the backend cannot be opened ({}).", why));
    }
    const auto entry = reinterpret_cast<BackendModuleFn>(dlsym(library, kBackendModuleSymbol));
    const BackendModule* module = entry == nullptr ? nullptr : entry();
    if (module != nullptr && module->version == kBackendModuleVersion) return module;
    dlclose(library);
    return cannot_open(fmt::format("'{}' is not a backend of this version of the program.", path));
}

// "cuda:1" -> 1, "cuda" -> 0
int device_of(const std::string& id) {
    const std::size_t colon = id.find(':');
    if (colon == std::string::npos) return 0;
    const auto device = parse_integer(id.substr(colon + 1));
    return device ? static_cast<int>(*device) : 0;
}

Error use_the_cpu(const BackendEntry& entry, const Error& error) {
    return make_error(error.kind, fmt::format("The backend \"{}\" does not work here: {}", entry.id, error.message),
                      "Use --backend cpu.");
}

Result<const BackendModule*> open_for(const std::string& file, const std::string& missing) {
    const std::string path = find_module_file(file);
    if (path.empty()) return cannot_open(missing);
    return open_backend_module(path);
}

// The entry as it turns out to be, and one more for each further device.
std::vector<BackendEntry> probe_entry(const BackendEntry& entry, const std::string& file, const std::string& missing) {
    BackendEntry found = entry;
    found.probe = nullptr;
    auto module = open_for(file, missing);
    if (!module) {
        found.reason = module.error().message;
        return {found};
    }
    const ModuleReport report = (*module)->probe();
    std::vector<BackendEntry> entries;
    for (const DeviceReport& device : report.devices) {
        BackendEntry one = found;
        if (device.index > 0) one.id = fmt::format("{}:{}", entry.id, device.index);
        one.title = fmt::format("{}, {}", entry.title, device.name);
        one.available = device.reason.empty();
        one.reason = device.reason;
        entries.push_back(std::move(one));
    }
    if (!entries.empty()) return entries;
    found.reason = report.reason;
    return {found};
}

}  // namespace

Result<const BackendModule*> open_backend_module(const std::string& path) {
    static std::mutex mutex;
    static std::map<std::string, const BackendModule*> opened;
    const std::lock_guard lock(mutex);
    if (const auto found = opened.find(path); found != opened.end()) return found->second;
    auto module = open_library(path);
    if (module) opened[path] = *module;
    return module;
}

std::string find_module_file(const std::string& name) {
    std::error_code code;
    const fs::path program = fs::read_symlink("/proc/self/exe", code);
    if (code) return {};
    for (const fs::path& folder : {program.parent_path(), program.parent_path() / "../lib/decodescope",
                                   program.parent_path().parent_path()})
        if (fs::is_regular_file(folder / name, code)) return (folder / name).lexically_normal().string();
    return {};
}

BackendEntry module_entry(const std::string& id, const std::string& title, const std::string& file,
                          const std::string& missing) {
    BackendEntry entry;
    entry.id = id;
    entry.title = title;
    entry.reason = "It has not been looked for yet.";
    entry.probe = [file, missing](const BackendEntry& self) { return probe_entry(self, file, missing); };
    entry.create = [entry, file, missing](const BackendRequest& request) -> Result<std::shared_ptr<Backend>> {
        auto module = open_for(file, missing);
        if (!module) return use_the_cpu(entry, module.error());
        ModuleRequest wanted;
        wanted.device = device_of(request.id);
        auto backend = (*module)->create(wanted);
        if (!backend) return use_the_cpu(entry, backend.error());
        return std::shared_ptr<Backend>(std::move(*backend));
    };
    return entry;
}

}  // namespace decodescope
