#!/bin/sh
# Boots systemd as process 1 of the namespaces that `unshare` has made, as a container does. Arguments:
# an empty folder for the root, the folder to show as /usr/local, the clone, the folder of units.
# /usr is the one of this machine, read-only; everything else is new and in memory.
set -eu
root=$1 local=$2 clone=$3 units=$4
mount --make-rprivate /
mount -t tmpfs tmpfs "$root"
cd "$root"
mkdir usr etc var proc sys dev tmp run root old clone
for name in bin lib lib64 sbin; do
  if [ -L "/$name" ]; then ln -s "$(readlink "/$name")" "$name"; fi
done
read_only() { mount --bind "$1" "$2" && mount -o remount,bind,ro "$2"; }
read_only /usr usr
read_only "$local" usr/local
read_only "$clone" clone
mount -t proc proc proc
read_only proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s ../run var/run
mkdir -p var/log/journal etc/systemd
cp -r "$units" etc/systemd/system
cp /etc/nsswitch.conf etc/
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
echo 0123456789abcdef0123456789abcdef >etc/machine-id
ip link set lo up
# Not chroot: processes in one cannot make the user namespaces that units need.
pivot_root . old
cd /
umount -l /old
exec env -i container=soak /usr/lib/systemd/systemd --unit=soak.target --show-status=no
