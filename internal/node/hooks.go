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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The annotations of a pod that name its hooks.
const (
	annotationPrefix = "holdfast.dev/"
	// checkAnnotation names the hook of a pod that runs before new files replace the old ones.
	// The hook can reject them.
	checkAnnotation = annotationPrefix + "check"
	// onChangeAnnotation names the hook of a pod that runs after new files are in place.
	onChangeAnnotation = annotationPrefix + "on-change"
)

const (
	// The defaults of Config.HookTimeout and Config.HookConcurrency.
	hookTimeout     = 30 * time.Second
	hookConcurrency = 8
	// hookOutputGrace is how long the agent waits for the output of a hook to be closed
	// after the hook has ended. A process that the hook started may keep it open.
	hookOutputGrace = time.Second
)

// hooks runs the executables of one directory as one user. A nil *hooks means that
// hooks are turned off.
type hooks struct {
	dir        string
	user       string
	credential *syscall.Credential // nil: hooks run as the user of the agent
	timeout    time.Duration
}

// newHooks checks the directory and looks up the user. It returns nil without an
// error if both are empty.
func newHooks(dir, name string) (*hooks, error) {
	if dir == "" {
		if name != "" {
			return nil, errors.New("--hooks-user: there are no hooks without --hooks-dir")
		}
		return nil, nil
	}
	if name == "" {
		return nil, errors.New("--hooks-dir: needs --hooks-user, the user that hooks run as")
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
	h.user = account.Username
	if int(uid) == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("only an agent of root can run hooks as another user")
	}
	h.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, err := account.GroupIds()
	if err != nil {
		return err
	}
	for _, group := range groups {
		id, err := strconv.ParseUint(group, 10, 31)
		if err != nil {
			return err
		}
		h.credential.Groups = append(h.credential.Groups, uint32(id))
	}
	return nil
}

// group returns the group that needs access to the volumes so that hooks can read
// them. It returns nil if hooks need no group.
func (h *hooks) group() *int {
	if h == nil || h.credential == nil {
		return nil
	}
	group := int(h.credential.Gid)
	return &group
}

// isMember reports whether hooks run in a group. A hook has the groups that its user has on the
// host, and no others: the pod chooses the group of the files, so a hook in that group could
// act with the rights of any group of the host.
func (h *hooks) isMember(group int) bool {
	return h.credential == nil || group == int(h.credential.Gid) || slices.Contains(h.credential.Groups, uint32(group))
}

// nameFor returns the hook that a pod names in an annotation. It returns "" if there
// is none or hooks are turned off.
func (h *hooks) nameFor(pod *corev1.Pod, annotation string) string {
	if h == nil {
		return ""
	}
	return pod.Annotations[annotation]
}

// hookCall is one call of a hook for one volume.
type hookCall struct {
	pod        *corev1.Pod
	volume     string
	annotation string
	// path is the directory with the files.
	path string
	// digest identifies the files. A hook that succeeded for a digest need not run again.
	digest string
	// secret is true if the files contain Secrets or tokens.
	secret secrecy
	// group is the group of the files, or nil.
	group *int
	// content is what a check hook checks; nil for an on-change hook.
	content *content
}

// name returns the name of the executable.
func (c hookCall) name() string { return c.pod.Annotations[c.annotation] }

// label returns the name of the executable for messages and logs. The name comes from the API and may
// be as long as an annotation.
func (c hookCall) label() string {
	const longest = 100
	name := c.name()
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "..."
	}
	return name
}

// run runs a hook and waits until it ends. It returns the end of the output of the hook.
func (h *hooks) run(ctx context.Context, call hookCall) (output string, err error) {
	file, err := h.checkedFile(call.name())
	if err != nil {
		return "", err
	}
	if call.annotation == checkAnnotation {
		if err := h.checkAccess(call.path); err != nil {
			return "", h.withGroup(call, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOLDFAST_POD_UID=" + string(call.pod.UID),
		"HOLDFAST_VOLUME_PATH=" + call.path,
	}
	written := &outputTail{}
	cmd.Stdout, cmd.Stderr = written, written
	// On a timeout, kill the hook and all processes that it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.credential}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = hookOutputGrace
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not done in %s", h.timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // the hook succeeded, and a process that it started keeps the output open
	}
	if err != nil {
		err = h.withGroup(call, err)
	}
	return written.text(call.secret), err
}

// withGroup adds to the error of a hook that its user is not in the group of the files.
func (h *hooks) withGroup(call hookCall, err error) error {
	if call.group == nil || h.isMember(*call.group) {
		return err
	}
	return fmt.Errorf("%w; the hook may be unable to read the files, because user %s is not in their group %d", err, h.user, *call.group)
}

// checkedFile returns the path of a hook. It checks the file and its directory on
// every call, because they may have changed since the last one.
func (h *hooks) checkedFile(name string) (string, error) {
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
	return file, checkRootOnly(file, info)
}

// checkDir returns an error if a user other than root could add files to the
// directory or replace the directory itself.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	if err := checkRootOnly(dir, info); err != nil {
		return err
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		// In a directory with the sticky bit, such as /tmp, only the owner of the
		// directory can replace the files of root. So it has to belong to root, but
		// may be writable for others.
		check := checkRootOnly
		if info.Mode()&fs.ModeSticky != 0 {
			check = checkRootOwns
		}
		if err := check(dir, info); err != nil {
			return err
		}
	}
	return nil
}

// checkRootOnly returns an error if a user other than root may change the file.
func checkRootOnly(path string, info fs.FileInfo) error {
	if err := checkRootOwns(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: must not be writable by others than root, and has mode %v", path, info.Mode())
	}
	return nil
}

// checkRootOwns returns an error if the file does not belong to root.
func checkRootOwns(path string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 {
		return fmt.Errorf("%s: must belong to root", path)
	}
	return nil
}
