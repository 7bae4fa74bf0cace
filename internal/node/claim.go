package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/klog/v2"
)

// Claim says which node uses a root directory.
type Claim struct {
	// Root is the root directory, and Name the name of the node.
	Root, Name string
	// TakeOver allows the node to use the root of another node. The agent then removes the
	// volumes of that node.
	TakeOver bool
}

// absoluteRoot returns the absolute path of a root directory. Hooks run in another directory than the
// agent. An empty path stays empty.
func absoluteRoot(root string) (string, error) {
	if root == "" {
		return "", nil
	}
	return filepath.Abs(root)
}

// CheckName returns an error if no Node can have this name.
func CheckName(name string) error {
	if wrong := validation.NameIsDNSSubdomain(name, false); len(wrong) > 0 {
		return fmt.Errorf("%q cannot be the name of a node: %s", name, strings.Join(wrong, "; "))
	}
	return nil
}

// write checks that the root belongs to the node, and writes the name of the node to a file
// in the root if it is not there. The root is locked.
func (c Claim) write() error {
	file := filepath.Join(c.Root, "node")
	data, err := os.ReadFile(file)
	owner := strings.TrimSpace(string(data))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case owner == c.Name:
		return nil
	case owner != "" && !c.TakeOver:
		return fmt.Errorf("%s has the volumes of node %s, and this is the agent of node %s: use another --root, "+
			"or --take-over to remove these volumes", c.Root, owner, c.Name)
	}
	if err := save(file, []byte(c.Name+"\n")); err != nil {
		if owner != "" {
			return err
		}
		// The root may be full. The agent must start all the same, to remove what is gone.
		klog.ErrorS(err, "the name of the node is not saved", "file", file)
	}
	return nil
}
