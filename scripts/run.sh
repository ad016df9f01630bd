#!/bin/sh
# Opens the viewer on the embedded demo city. Where there is no display it says so and draws a picture instead.

. "$(dirname "$0")/common.sh"

picture="target/demo-city.png"

has_display() {
    case $(uname -s) in
    Darwin | MINGW* | MSYS*) true ;;
    *) [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}${WAYLAND_SOCKET:-}" ] ;;
    esac
}

draw_picture() {
    mkdir -p target
    cargo run --bin voxatlas -- render --size 1600x900 --out "$picture"
    say "The demo city is drawn in $PWD/$picture"
}

scripts/setup.sh
if ! has_display; then
    say "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set): drawing a picture instead of opening a window."
    draw_picture
    exit
fi

status=0
cargo run --bin voxatlas -- view || status=$?
# 2 is the program's word for a fatal error; without arguments that is the window or the graphics device.
if [ "$status" -eq 2 ]; then
    say "The viewer could not go on with this display: drawing a picture instead."
    draw_picture
    exit
fi
exit "$status"
