#!/bin/sh
# Installs what the build and the tests need and this machine lacks. Where nothing is missing it says nothing.
#
# Debian and Ubuntu: packages through apt, as root or through sudo. Elsewhere it says what to install.
# Everywhere: Rust through rustup, unless a recent enough Rust is there.

. "$(dirname "$0")/common.sh"

# To build: the C compiler is for libdeflate and for the TLS library.
packages="build-essential ca-certificates curl git pkg-config python3"
# To draw: the Vulkan loader, and Mesa's drivers with lavapipe, which needs no GPU.
packages="$packages libvulkan1 mesa-vulkan-drivers"
# To open a window: winit loads these when it starts, so a missing one shows only then.
packages="$packages libwayland-client0 libx11-6 libx11-xcb1 libxcursor1 libxi6 libxkbcommon0 libxkbcommon-x11-0 libxrandr2"
# To open a window where there is no screen.
packages="$packages xauth xvfb"

# The names in $packages that dpkg does not know as installed, on one line.
missing_packages() {
    # shellcheck disable=SC2086 # one word a package
    installed=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' $packages 2>/dev/null | sed -n 's/ installed$//p')
    for package in $packages; do
        printf '%s\n' "$installed" | grep -qx "$package" || printf '%s ' "$package"
    done
}

install_packages() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -eq 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null; then
        as_root="sudo"
    else
        say "These packages are missing, and installing them takes root or sudo:" "    apt-get install $missing" >&2
        exit 1
    fi
    say "Installing with apt: $missing"
    $as_root apt-get update
    # shellcheck disable=SC2086 # one word a package
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
}

# Without apt there is no telling what packages are called: looks for the programs and libraries themselves.
name_what_is_missing() {
    missing=""
    for program in cc curl git python3; do
        command -v "$program" >/dev/null || missing="$missing $program"
    done
    if [ "$(uname -s)" = Linux ] && command -v ldconfig >/dev/null; then
        libraries=$(ldconfig -p)
        for library in libvulkan.so.1 libX11.so.6 libX11-xcb.so.1 libXcursor.so.1 libXi.so.6 libxkbcommon.so.0 libxkbcommon-x11.so.0; do
            case $libraries in
            *"$library"*) ;;
            *) missing="$missing $library" ;;
            esac
        done
    fi
    [ -n "$missing" ] || return 0
    say "Please install, in the way of this system:$missing" \
        "(a C compiler, curl, git, Python 3; to draw, the Vulkan loader and a driver, such as Mesa's lavapipe; to open a" \
        "window, the client libraries of X11 or Wayland and libxkbcommon; on macOS \`xcode-select --install\` brings the programs)" >&2
    exit 1
}

# Whether a Rust is there that can build this: the version that rust-toolchain.toml pins, or a later one without rustup.
has_rust() {
    pinned=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
    # Asking must not begin to download: that is done below, where its progress is seen.
    found=$(RUSTUP_AUTO_INSTALL=0 cargo --version 2>/dev/null | cut -d ' ' -f 2)
    [ -n "$found" ] && [ "$(printf '%s\n' "$pinned" "$found" | sort -V | head -n 1)" = "$pinned" ]
}

install_rustup() {
    say "Installing Rust with rustup (https://rustup.rs)"
    installer=$(mktemp)
    curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location https://sh.rustup.rs --output "$installer" || {
        rm "$installer"
        say "rustup could not be downloaded. With Rust $pinned or later on the PATH it is not needed." >&2
        exit 1
    }
    # The path check only asks what to do about an older Rust from elsewhere; ours stands first on the PATH.
    RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$installer" -y --profile minimal --default-toolchain none
    rm "$installer"
}

install_rust() {
    has_rust && return 0
    command -v rustup >/dev/null || install_rustup
    # Reads rust-toolchain.toml: version, components and targets.
    has_rust || rustup toolchain install --no-self-update
    has_rust || {
        say "Rust $pinned or later is needed; found: $(cargo --version 2>&1 || true)" >&2
        exit 1
    }
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    install_packages
else
    name_what_is_missing
fi
install_rust
