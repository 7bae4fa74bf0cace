package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The annotations by which a pod names a hook: one that looks at new files
// before they take the place of the old, and one that runs after they did.
const (
	checkFirst = "holdfast.dev/check"
	onChange   = "holdfast.dev/on-change"
)

const (
	hookLimit = 30 * time.Second
	// hookEnd is how long a hook that was killed may keep its output open.
	hookEnd = time.Second
)

// hooks runs executables of one directory as one user. A nil *hooks runs none.
type hooks struct {
	dir        string
	credential *syscall.Credential // nil: as the agent itself
	gid        int
	limit      time.Duration
}

// newHooks checks the directory and finds the user. Without a directory there
// are no hooks.
func newHooks(dir, name string) (*hooks, error) {
	if dir == "" {
		if name != "" {
			return nil, errors.New("--hooks-user: there are no hooks without --hooks-dir")
		}
		return nil, nil
	}
	if name == "" {
		return nil, errors.New("--hooks-dir: name with --hooks-user who hooks run as")
	}
	h := &hooks{}
	var err error
	if h.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("--hooks-dir: %w", err)
	}
	if h.dir, err = filepath.EvalSymlinks(h.dir); err != nil {
		return nil, fmt.Errorf("--hooks-dir: %w", err)
	}
	if err := checkDir(h.dir); err != nil {
		return nil, fmt.Errorf("--hooks-dir: %w", err)
	}
	if err := h.setUser(name); err != nil {
		return nil, fmt.Errorf("--hooks-user %s: %w", name, err)
	}
	return h, nil
}

func (h *hooks) setUser(name string) error {
	account, err := user.Lookup(name)
	if err != nil {
		if account, err = user.LookupId(name); err != nil {
			return errors.New("no such user")
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 31)
	if err != nil {
		return err
	}
	h.gid = int(gid)
	if int(uid) == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("only root runs hooks as somebody else")
	}
	h.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// group is the one that may read volumes so that hooks can; -1 is none.
func (h *hooks) group() int {
	if h == nil || h.credential == nil {
		return -1
	}
	return h.gid
}

// named is the hook that a pod names, "" if hooks are off or it names none.
func (h *hooks) named(pod *corev1.Pod, annotation string) string {
	if h == nil {
		return ""
	}
	return pod.Annotations[annotation]
}

// run runs the hook that a pod names and waits for it. What the hook prints goes
// nowhere: it may have read a Secret.
func (h *hooks) run(ctx context.Context, annotation string, pod *corev1.Pod, volume string) error {
	name := pod.Annotations[annotation]
	file, err := h.find(name)
	if err != nil {
		return fmt.Errorf("hook %q of %s: %w", name, annotation, err)
	}
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, file)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOLDFAST_POD_UID=" + string(pod.UID),
		"HOLDFAST_VOLUME_PATH=" + volume,
	}
	// One that takes too long is killed with everything it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.credential}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = hookEnd
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("hook %q of %s: not done in %s", name, annotation, h.limit)
	case err != nil:
		return fmt.Errorf("hook %q of %s: %w", name, annotation, err)
	}
	return nil
}

// find is the file of a hook, checked anew each time.
func (h *hooks) find(name string) (string, error) {
	if err := checkName(name); err != nil || strings.ContainsRune(name, filepath.Separator) {
		return "", errors.New("must be the name of a file in the directory of hooks")
	}
	if err := checkDir(h.dir); err != nil {
		return "", err
	}
	file := filepath.Join(h.dir, name)
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such hook on this node")
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file")
	case info.Mode().Perm()&0o111 == 0:
		return "", errors.New("not executable")
	}
	return file, checkOwner(file, info)
}

// checkDir refuses a directory that others than root can put something into,
// or in the place of.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		// With the sticky bit, such as that of /tmp, nobody replaces what is
		// root's, but who owns the directory.
		check := checkOwner
		if info.Mode()&fs.ModeSticky != 0 {
			check = checkRoots
		}
		if err := check(dir, info); err != nil {
			return err
		}
	}
	return nil
}

// checkOwner refuses what others than root may change.
func checkOwner(path string, info fs.FileInfo) error {
	if err := checkRoots(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: must not be writable by others than root, and has mode %v", path, info.Mode())
	}
	return nil
}

// checkRoots refuses what is not root's.
func checkRoots(path string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 {
		return fmt.Errorf("%s: must belong to root", path)
	}
	return nil
}
