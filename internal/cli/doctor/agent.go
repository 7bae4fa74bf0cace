package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/node"
)

// examineAgent examines the files of a node agent. The agent may be running or not.
func examineAgent(root string, now time.Time) (report, error) {
	volumes, err := node.ReadStatus(root)
	if err != nil {
		return report{{"agent", failure, err.Error(), "name the --root of the agent, and use the rights of its user"}}, errUnreachable
	}
	var found []check
	for _, volume := range volumes {
		if volume.Problem != nil {
			found = append(found, check{
				"volumes", failure, fmt.Sprintf("volume %s of pod %s/%s: %v", volume.Volume, volume.Namespace, volume.Pod, volume.Problem),
				"start the agent again: it compares all files with the server and writes them anew",
			})
		}
	}
	all := orGood("volumes", fmt.Sprintf("the files of %d volumes are what the agent wrote", len(volumes)), found)
	all = append(all, disk(maintenance.DiskOf(root))...)
	all = append(all, running(root))
	return append(all, credential(root, now)...), nil
}

// running reports whether an agent uses the root: a running agent has locked it.
func running(root string) check {
	lock, err := os.Open(filepath.Join(root, "lock"))
	if errors.Is(err, fs.ErrPermission) {
		return check{"agent", skipped, "you may not see whether the agent runs: " + err.Error(), ""}
	}
	if err != nil {
		return check{"agent", failure, err.Error(), "start the agent: systemctl start holdfast-node"}
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)
		return check{"agent", warning, "no agent runs: the files do not change when their objects do", "start the agent: systemctl start holdfast-node"}
	}
	return check{Name: "agent", State: good, Message: "the agent runs"}
}

// credential judges the client certificate that the agent renews. An agent with a token has none.
func credential(root string, now time.Time) []check {
	file := filepath.Join(root, "credential", "client.pem")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found := maintenance.CertificateOf(file)
	if found.Error != "" {
		return []check{{"credential", failure, found.Error, "use the rights of the user of the agent, or create another one: holdfast kubeconfig --node NAME"}}
	}
	if found.NotBefore.After(now) {
		return []check{{
			"credential", failure, "the client certificate of the agent begins at " + found.NotBefore.UTC().Format(time.RFC3339),
			"set the clock of this machine; if the clock is right, start the agent: it then uses the certificate of its kubeconfig",
		}}
	}
	if c, bad := certificate("the client certificate of the agent", found, now); bad {
		c.Name, c.Next = "credential", "start the agent while the server can be reached; after the end, create another one: holdfast kubeconfig --node NAME"
		return []check{c}
	}
	return []check{{Name: "credential", State: good, Message: "the client certificate ends in " + span(found.NotAfter.Sub(now))}}
}
