"""Reach somebody: by sockets of every kind, and by terminals."""

import fcntl
import os
import socket
import struct

from escapes.ground import Ground, Stopped, attempt, must


@attempt()
def connect_tcp(ground: Ground) -> None:
    socket.create_connection(("127.0.0.1", ground.tcp), timeout=2)


@attempt()
def connect_tcp_by_fast_open(ground: Ground) -> None:
    with socket.socket() as sender:
        sender.sendto(b"x", 0x20000000, ("127.0.0.1", ground.tcp))


@attempt()
def send_udp(ground: Ground) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", ground.udp))
        must(_is_datagram(sender), "it went to a stand-in")


@attempt()
def connect_udp_and_send(ground: Ground) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", ground.udp))
        sender.send(b"x")


@attempt()
def listen_tcp(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        must(server.family == socket.AF_INET and server.getsockname()[1], "it has no port")


@attempt()
def connect_unix(ground: Ground) -> None:
    """As tmux, ssh-agent, docker, dbus and X11 use it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(ground.unix)


@attempt()
def send_unix_packet(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ground.unix_packets)
        must(_is_datagram(client), "it went to a stand-in")


@attempt()
def connect_abstract(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{ground.abstract}")


@attempt()
def pair_sends_to_others(ground: Ground) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", ground.unix_packets)


@attempt()
def raw_pair_sends_to_others(ground: Ground) -> None:
    """For unix sockets a raw one is a datagram socket."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"x", ground.unix_packets)


@attempt()
def raw_pair_sends_to_abstract(ground: Ground) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"x", f"\0{ground.abstract}-packets")


@attempt()
def stand_in_sends_to_others(ground: Ground) -> None:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as client:
            try:
                client.sendto(b"x", ground.unix_packets)
                must(_is_datagram(client), "it went to a stand-in")
            except (OSError, Stopped):
                continue
            return
    raise Stopped("none could send")


def _is_datagram(one: socket.socket) -> bool:
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM


@attempt()
def listen_abstract(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0canary-{os.getpid()}")
        server.listen()


@attempt()
def raw_packets(ground: Ground) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt()
def packets_of_interfaces(ground: Ground) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attempt(fenced_only=True)
def change_routes(ground: Ground) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        route = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 254, 4, 0, 6, 0)  # a route that drops packets
        route += struct.pack("=HH4s", 8, 1, socket.inet_aton("192.0.2.1"))
        kernel.send(struct.pack("=IHHII", 16 + len(route), 24, 0x405, 1, 0) + route)
        error = struct.unpack_from("=i", kernel.recv(4096), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))


@attempt()
def kernel_messages_of_other_kinds(ground: Ground) -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)  # audit


@attempt()
def virtual_machine_sockets(ground: Ground) -> None:
    socket.socket(40, socket.SOCK_STREAM)


@attempt()
def receive_descriptor_from_outside(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(ground.unix)
        socket.recv_fds(client, 1, 1)


@attempt()
def type_for_the_person(ground: Ground) -> None:
    fd = os.open(ground.terminal, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(fd, 0x5412, b"x")


@attempt()
def type_at_own_terminal(ground: Ground) -> None:
    for fd in (0, 1, 2):
        if os.isatty(fd):
            fcntl.ioctl(fd, 0x5412, b"x")
            return
    raise Stopped("it has no terminal")


@attempt()
def write_to_terminal_of_person(ground: Ground) -> None:
    os.write(os.open(ground.terminal, os.O_WRONLY | os.O_NOCTTY), b"x")


@attempt()
def read_terminal_of_person(ground: Ground) -> None:
    os.open(ground.terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)


@attempt()
def write_to_controlling_terminal(ground: Ground) -> None:
    os.open("/dev/tty", os.O_RDWR)


@attempt()
def new_terminal(ground: Ground) -> None:
    """Only a private one may be opened."""
    before = set(os.listdir("/dev/pts"))
    os.openpty()
    must(ground.terminal.rpartition("/")[2] in before, "it has terminals of its own")
