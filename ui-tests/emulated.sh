#!/usr/bin/env bash
# The tests of the kernels with AVX-512 on a processor that lacks it: Bochs emulates one, which boots Linux and runs them.
#
#     bash ui-tests/emulated.sh                  # those of the CPU kernels
#     bash ui-tests/emulated.sh simd:: softmax   # those whose names hold one of the words; other arguments of test binaries too
#
# Variables ONNX_EMBED_* and RAYON_NUM_THREADS hold in the emulator too. LIMIT is the time that it may take, in seconds. On Debian
# it needs these packages, and it downloads a kernel once:
#
#     apt-get install --no-install-recommends bochs bochs-term bochsbios vgabios busybox-static isolinux syslinux-common xorriso cpio
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/emulated
limit=${LIMIT:-7200}
mkdir -p "$target"

# With Ice Lake's instructions, among them those for dot products (VNNI) and permutations of bytes (VBMI). Its instructions per
# second are those of its clock: as many as a slow processor runs, so that times that tests limit are as long as elsewhere.
processor='model=corei7_icelake_u, count=1, ips=500000000'
flags=(avx512f avx512bw avx512dq avx512vl avx512vbmi avx512_vnni)

# What Bochs 2.7 has wrong: the sizes of compact states of registers and the state of protection keys, without which Linux uses
# no AVX at all. With the others, and mitigations=off, Linux looped in page faults: it is not known which of them matter.
without=pku,xsaves,xsavec,pcid,invpcid,smap,smep,umip,erms,fsrm

# Tests that say nothing here.
skipped=(
  each_function_with_several_tensors_has_a_row # reads the sources
)

# The checks of a development build stay: results begin as NaN, for one.
printf -- '-- tests (%s s)\n' "$SECONDS"
program=$(
  CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_TARGET_DIR=$target/cargo \
    cargo test -p onnx-embed-kernels --lib --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
)

printf -- '-- image (%s s)\n' "$SECONDS"
kernel=$(find "$target" -maxdepth 1 -name 'vmlinuz-*' | head -n 1)
if [ -z "$kernel" ]; then
  # The kernel for virtual machines has few drivers, and LZ4 unpacks it.
  (
    cd "$target"
    apt-get download "$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/ *Depends: //p')"
    dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x --strip-components 2 --wildcards './boot/vmlinuz-*'
    rm linux-image-*.deb
  )
  kernel=$(find "$target" -maxdepth 1 -name 'vmlinuz-*' | head -n 1)
fi

image=$target/image
rm -rf "$image" "$target/root"
mkdir -p "$image" "$target/root"/{bin,proc,sys,dev,tmp}
cp "$kernel" "$image/vmlinuz"
cp /bin/busybox "$target/root/bin/busybox"
strip -o "$target/root/tests" "$program"
# Libraries, and the loader, at their paths.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
  install -D -m 755 "$library" "$target/root$library"
done

words=("$@")
[ $# -gt 0 ] || words=(flex::)
for test in "${skipped[@]}"; do
  words+=(--skip "$test")
done
{
  echo '#!/bin/busybox sh'
  declare -px | grep -E '^declare -x (ONNX_EMBED_[A-Z_]*|RAYON_NUM_THREADS)=' | sed 's/^declare -x/export/' || true
  printf 'set -- %s\n' "${words[*]@Q}"
  cat <<'INIT'
/bin/busybox --install -s /bin
export PATH=/bin RUST_BACKTRACE=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ip link set lo up
exec > /dev/ttyS0 2>&1 < /dev/null
stty -F /dev/ttyS0 -opost
echo "booted in $(cut -d ' ' -f 1 /proc/uptime) s of its own clock"
grep -m 1 '^flags' /proc/cpuinfo
# The functions of libc that use AVX-512 are switched off.
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512BW /tests --test-threads 1 "$@"
status=$?
echo "status $status"
# Time for the serial port.
sleep 1
poweroff -f
INIT
} > "$target/root/init"
chmod 755 "$target/root/init"
(cd "$target/root" && find . | cpio --quiet -o -H newc -R 0:0) > "$image/initramfs"

cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$image"
cat > "$image/isolinux.cfg" <<END
default linux
label linux
kernel vmlinuz
initrd initramfs
append console=ttyS0,115200 quiet nokaslr panic=-1 reboot=triple clearcpuid=$without
END
xorriso -as mkisofs -quiet -o "$target/image.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
  -boot-info-table "$image"

printf -- '-- emulator (%s s)\n' "$SECONDS"
output=$target/output
: > "$output"
cat > "$target/bochsrc" <<END
display_library: term
cpu: $processor, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=2048, host=2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path=$target/image.iso, status=inserted
boot: cdrom
clock: sync=none, time0=utc
com1: enabled=1, mode=file, dev=$output
log: $target/bochs.log
panic: action=fatal
error: action=report
info: action=ignore
speaker: enabled=0
sound: driver=dummy
END
# Debian's has a debugger, which would ask what to do, and no display library without a terminal: it gets one that nobody sees.
printf 'continue\nquit\n' > "$target/debugger"
TERM=vt100 timeout "$limit" script -qec "bochs-bin -q -f '$target/bochsrc' -rc '$target/debugger'" /dev/null < /dev/null > "$target/screen" 2>&1 &
emulator=$!
trap 'kill "$emulator" 2> /dev/null || true' EXIT
tail -n +1 -f --pid "$emulator" "$output" | tr -d '\r' &
wait "$emulator" || true
trap - EXIT
wait

status=$(sed -n 's/^status \([0-9]*\)\r*$/\1/p' "$output")
if [ -z "$status" ]; then
  printf 'no status of tests after %s s, see %s\n' "$SECONDS" "$target" >&2
  exit 1
fi
for flag in "${flags[@]}"; do
  if ! grep -m 1 '^flags' "$output" | grep -qw "$flag"; then
    printf 'the processor of the emulator has no %s\n' "$flag" >&2
    exit 1
  fi
done
if ! grep -qE '^test result: .* [1-9][0-9]* (passed|failed)' "$output"; then
  echo 'no test ran' >&2
  exit 1
fi
printf '\nstatus %s, %s s\n' "$status" "$SECONDS"
exit "$status"
