// Whether there is a display, found out without Qt: Qt ends the program when there is none.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QLibraryInfo>
#include <QPluginLoader>
#include <cstdlib>
#include <cstring>
#include <string>

#include "app/gui/window_run.h"

namespace decodescope {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

Status no_display(const std::string& why) {
    return make_error(ErrorKind::Device, "No display: " + why + ".",
                      "The demonstration runs without one: decodescope demo -o out.");
}

// Opens a connection as Qt's own plugin would, through the same library.
bool x_server_answers(const std::string& display) {
    void* library = dlopen("libxcb.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    using Connect = void* (*)(const char*, int*);
    using HasError = int (*)(void*);
    using Disconnect = void (*)(void*);
    const auto connect = reinterpret_cast<Connect>(dlsym(library, "xcb_connect"));
    const auto has_error = reinterpret_cast<HasError>(dlsym(library, "xcb_connection_has_error"));
    const auto disconnect = reinterpret_cast<Disconnect>(dlsym(library, "xcb_disconnect"));
    bool answers = false;
    if (connect != nullptr && has_error != nullptr && disconnect != nullptr) {
        void* connection = connect(display.c_str(), nullptr);
        answers = connection != nullptr && has_error(connection) == 0;
        disconnect(connection);
    }
    dlclose(library);
    return answers;
}

bool wayland_answers(std::string socket_name) {
    if (socket_name.find('/') == std::string::npos) socket_name = environment("XDG_RUNTIME_DIR") + "/" + socket_name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_name.size() >= sizeof(address.sun_path)) return false;
    std::memcpy(address.sun_path, socket_name.c_str(), socket_name.size() + 1);
    const int handle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (handle < 0) return false;
    const bool answers = connect(handle, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(handle);
    return answers;
}

// The plugin itself may be missing, or a library that it needs.
Status plugin_opens(const QString& name) {
    QPluginLoader loader(QLibraryInfo::path(QLibraryInfo::PluginsPath) + QStringLiteral("/platforms/lib") + name +
                         QStringLiteral(".so"));
    if (loader.load()) return {};
    return no_display("Qt's plugin for it cannot be opened (" + loader.errorString().toStdString() + ")");
}

}  // namespace

Status display_answers() {
    const std::string platform = environment("QT_QPA_PLATFORM");
    if (!platform.empty() && platform.rfind("xcb", 0) != 0 && platform.rfind("wayland", 0) != 0)
        return plugin_opens(QStringLiteral("q") + QString::fromStdString(platform).section(QLatin1Char(':'), 0, 0));
    const std::string wayland = environment("WAYLAND_DISPLAY"), x = environment("DISPLAY");
    if (wayland.empty() && x.empty()) return no_display("neither DISPLAY nor WAYLAND_DISPLAY is set");
    if (!x.empty() && x_server_answers(x)) {
        if (platform.empty())
            setenv("QT_QPA_PLATFORM", "xcb", 1);  // the display that answered, not the one that Qt would try first
        return plugin_opens(QStringLiteral("qxcb"));
    }
    if (!wayland.empty() && wayland_answers(wayland)) {
        if (platform.empty()) setenv("QT_QPA_PLATFORM", "wayland", 1);
        return plugin_opens(QStringLiteral("qwayland-generic"));
    }
    return no_display(!x.empty() ? "the X server at DISPLAY=" + x + " does not answer"
                                 : "the compositor at WAYLAND_DISPLAY=" + wayland + " does not answer");
}

}  // namespace decodescope
