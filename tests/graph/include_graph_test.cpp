// The folders form a one-way graph. Reads every #include "..." and fails on an arrow that is not in the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// Each box and the boxes it may include, itself always.
const std::map<std::string, std::set<std::string>>& allowed() {
    static const std::map<std::string, std::set<std::string>> graph = [] {
        std::map<std::string, std::set<std::string>> g;
        g["kernels/api"] = {};
        g["kernels/reference"] = {"kernels/api"};
        g["kernels/cpu"] = {"kernels/reference", "kernels/api"};
        g["kernels/cuda"] = {"kernels/reference", "kernels/api"};
        g["engine"] = {"kernels/api"};
        g["ui/session"] = {"engine", "kernels/api"};
        g["ui/viewmodels"] = {"ui/session", "engine", "kernels/api"};
        g["ui/widgets"] = {"ui/viewmodels", "ui/session", "engine", "kernels/api"};
        g["ui/panels"] = {"ui/widgets", "ui/viewmodels", "ui/session", "engine", "kernels/api"};
        g["ui/main_window"] = {"ui/panels", "ui/widgets", "ui/viewmodels", "ui/session", "engine", "kernels/api"};
        g["app"] = {"ui/main_window", "ui/panels", "ui/widgets", "ui/viewmodels", "ui/session", "engine", "kernels/cpu",
                    "kernels/reference", "kernels/api"};
        return g;
    }();
    return graph;
}

std::string box_of(const std::string& path) {
    for (const auto& [box, _] : allowed())
        if (path.rfind(box + "/", 0) == 0) return box;
    return {};
}

// Folder below ui/panels, to keep panels apart: "cache" for ui/panels/cache/cache_panel.h, "" for files directly below.
std::string panel_of(const std::string& path) {
    const std::string prefix = "ui/panels/";
    if (path.rfind(prefix, 0) != 0) return {};
    const auto slash = path.find('/', prefix.size());
    return slash == std::string::npos ? std::string{} : path.substr(prefix.size(), slash - prefix.size());
}

std::string violation(const std::string& from, const std::string& to) {
    const std::string from_box = box_of(from), to_box = box_of(to);
    if (from_box.empty()) return {};
    if (to_box.empty()) return from + " includes " + to + ", which is in no box of the graph";
    if (from_box != to_box && !allowed().at(from_box).contains(to_box)) return from + " includes " + to;
    const std::string panel = panel_of(from), other = panel_of(to);
    if (!panel.empty() && !other.empty() && panel != other) return from + " includes another panel: " + to;
    return {};
}

std::vector<std::string> includes_of(const fs::path& file) {
    static const std::regex pattern(R"re(^\s*#\s*include\s*"([^"]+)")re");
    std::vector<std::string> found;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_search(line, match, pattern)) found.push_back(match[1]);
    }
    return found;
}

TEST(IncludeGraph, EveryIncludeFollowsAnArrow) {
    const fs::path root = DECODESCOPE_SOURCE_DIR;
    int files = 0;
    for (const char* top : {"app", "engine", "kernels", "ui"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const auto extension = entry.path().extension();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
            ++files;
            const std::string from = fs::relative(entry.path(), root).generic_string();
            for (const std::string& to : includes_of(entry.path())) {
                if (to.find('/') == std::string::npos) continue;  // generated files: moc_*.cpp, *.moc
                EXPECT_EQ(violation(from, to), "");
                EXPECT_TRUE(fs::exists(root / to)) << from << " includes " << to;
            }
        }
    }
    EXPECT_GT(files, 20);
}

TEST(IncludeGraph, FindsForbiddenArrows) {
    EXPECT_NE(violation("engine/decode/a.cpp", "kernels/cpu/b.h"), "");
    EXPECT_NE(violation("ui/panels/cache/a.cpp", "ui/panels/timing/b.h"), "");
    EXPECT_NE(violation("ui/session/a.cpp", "ui/widgets/theme.h"), "");
    EXPECT_NE(violation("engine/a.cpp", "app/cli/b.h"), "");
    EXPECT_EQ(violation("ui/panels/cache/a.cpp", "ui/widgets/theme.h"), "");
    EXPECT_EQ(violation("app/cli/a.cpp", "kernels/cpu/b.h"), "");
}

// A heavy header is seen by one translation unit, so that builds stay short.
TEST(IncludeGraph, HeavyHeadersStayInOnePlace) {
    const fs::path root = DECODESCOPE_SOURCE_DIR;
    std::map<std::string, std::vector<std::string>> users;
    for (const char* top : {"app", "engine", "kernels", "ui"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const auto extension = entry.path().extension();
            if (extension != ".h" && extension != ".cpp") continue;
            std::ifstream in(entry.path());
            const std::string text((std::istreambuf_iterator<char>(in)), {});
            const std::string name = fs::relative(entry.path(), root).generic_string();
            if (text.find("#include <qcustomplot.h>") != std::string::npos) users["qcustomplot"].push_back(name);
            if (text.find("#include <CLI/") != std::string::npos) users["CLI11"].push_back(name);
            if (extension == ".h" && text.find("#include <nlohmann/json.hpp>") != std::string::npos)
                users["json in a header"].push_back(name);
        }
    }
    EXPECT_LE(users["qcustomplot"].size(), 1u);
    EXPECT_LE(users["CLI11"].size(), 1u);
    EXPECT_TRUE(users["json in a header"].empty()) << users["json in a header"].front();
}

}  // namespace
