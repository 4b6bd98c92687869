# Runs a program on a pseudo-terminal and prints what it showed, then its exit status as the last line.
#     on-terminal.py ROWS COLUMNS KEYS PROGRAM ARGS...       KEYS are typed once the program has been quiet for a moment, what stands behind each
#     \\x1e when it is quiet again; "" types nothing
import os, select, struct, sys, fcntl, termios, time
rows, columns, keys = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode().split(b"\x1e")
fd, inner = os.openpty()
fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)) # before anybody looks
pid = os.fork()
if pid == 0:
    os.login_tty(inner) if hasattr(os, "login_tty") else (os.setsid(), fcntl.ioctl(inner, termios.TIOCSCTTY, 0), [os.dup2(inner, i) for i in range(3)], os.close(inner))
    os.close(fd)
    os.execvp(sys.argv[4], sys.argv[4:])
os.close(inner)
shown, end = b"", time.monotonic() + 60
while time.monotonic() < end:
    ready, _, _ = select.select([fd], [], [], 0.7)
    if not ready and keys:
        os.write(fd, keys.pop(0))
    if not ready:
        continue
    try:
        data = os.read(fd, 65536)
    except OSError: # the last one who had it open is gone
        break
    if not data:
        break
    shown += data
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
print(f"\nexit {os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)}")
