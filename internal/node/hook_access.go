package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// The bits of a mode that allow all users to read a file or to enter a directory.
const (
	readBits  = 0o444
	enterBits = 0o111
)

// account is a user of the host with its groups.
type account struct {
	uid    uint32
	groups []uint32
}

// account returns the user that hooks run as.
func (h *hooks) account() (account, error) {
	if h.credential != nil {
		return account{h.credential.Uid, append(slices.Clone(h.credential.Groups), h.credential.Gid)}, nil
	}
	self := account{uint32(os.Geteuid()), []uint32{uint32(os.Getegid())}}
	groups, err := os.Getgroups()
	for _, group := range groups {
		self.groups = append(self.groups, uint32(group))
	}
	return self, err
}

// checkAccess returns an error if the hook cannot read all files of a directory. A hook that looks for
// wrong content would accept files that it cannot read.
func (h *hooks) checkAccess(dir string) error {
	user, err := h.account()
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("the files to check: %w", err)
	}
	for _, path := range []string{dir, resolved} {
		for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
			info, err := os.Stat(parent)
			if err != nil {
				return fmt.Errorf("the files to check: %w", err)
			}
			if !user.has(info, enterBits) {
				return fmt.Errorf("user %s cannot enter %s, so that the hook cannot check the files", h.user, parent)
			}
			if parent == filepath.Dir(parent) {
				break
			}
		}
	}
	return filepath.WalkDir(resolved, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		needed := fs.FileMode(readBits)
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			return nil
		case entry.IsDir():
			needed |= enterBits
		}
		if !user.has(info, needed) {
			return fmt.Errorf("user %s cannot read %s (mode %v), so that the hook cannot check it", h.user, entry.Name(), info.Mode())
		}
		return nil
	})
}

// has reports whether the mode of a file gives the user all the permissions. needed has the same
// permissions for the owner, the group and all others.
func (a account) has(info fs.FileInfo, needed fs.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case a.uid == 0:
		return true
	case !ok:
		return false
	case stat.Uid == a.uid:
		needed &= 0o700
	case slices.Contains(a.groups, stat.Gid):
		needed &= 0o070
	default:
		needed &= 0o007
	}
	return info.Mode().Perm()&needed == needed
}
