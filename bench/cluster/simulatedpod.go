package cluster

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// address returns an address of the node: its own with number 0, otherwise that of a pod.
func (n *simulatedNode) address(number int) string {
	return fmt.Sprintf("10.%d.%d.%d", 128+n.number/256, n.number%256, 1+number%254)
}

// podStatus returns the status of a pod that runs, or that has ended if its containers are not restarted for ever.
func (n *simulatedNode) podStatus(pod *object) map[string]any {
	phase, ready := "Running", "True"
	if pod.Spec.RestartPolicy == "Never" || pod.Spec.RestartPolicy == "OnFailure" {
		phase, ready = "Succeeded", "False"
	}
	var initialized, containers, conditions []any
	for _, c := range pod.Spec.InitContainers {
		initialized = append(initialized, c.status(terminated(0)))
	}
	for _, c := range pod.Spec.Containers {
		state := map[string]any{"running": map[string]any{"startedAt": now()}}
		if phase != "Running" {
			state = terminated(c.exitCode())
		}
		if c.exitCode() != 0 && pod.Spec.RestartPolicy == "Never" {
			phase = "Failed"
		}
		containers = append(containers, c.status(state))
	}
	for kind, status := range map[string]string{"Initialized": "True", "ContainersReady": ready, "Ready": ready} {
		conditions = append(conditions, map[string]any{"type": kind, "status": status, "lastTransitionTime": now()})
	}
	ip, hostIP := n.address(n.pods), n.address(0)
	return map[string]any{
		"phase": phase, "startTime": now(), "observedGeneration": pod.Metadata.Generation,
		"podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}, "hostIP": hostIP, "hostIPs": []any{map[string]any{"ip": hostIP}},
		"conditions": conditions, "initContainerStatuses": initialized, "containerStatuses": containers,
	}
}

// container is a container of a pod.
type container struct {
	Name, Image   string
	Command, Args []string
}

// status returns the status of the container in a state.
func (c *container) status(state map[string]any) map[string]any {
	return map[string]any{
		"name": c.Name, "image": c.Image, "imageID": "", "ready": state["running"] != nil, "restartCount": 0, "state": state,
	}
}

// exits finds the exit codes in a script.
var exits = regexp.MustCompile(`\bexit (\d+)`)

// exitCode returns the exit code of a command such as "exit 1". It is 0 for any other command.
func (c *container) exitCode() int {
	found := exits.FindAllStringSubmatch(strings.Join(append(c.Command, c.Args...), " "), -1)
	if len(found) != 1 {
		return 0
	}
	code, err := strconv.Atoi(found[0][1])
	if err != nil {
		return 0
	}
	return code
}

// terminated returns the state of a container that has ended.
func terminated(exitCode int) map[string]any {
	reason := "Completed"
	if exitCode != 0 {
		reason = "Error"
	}
	return map[string]any{"terminated": map[string]any{"exitCode": exitCode, "startedAt": now(), "finishedAt": now(), "reason": reason}}
}
