package progress

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/operator/api"
)

// Tree is a plan with its phases and steps, a line each.
func Tree(status api.PlanStatus) []string {
	lines := []string{line("", status.Name, status.Status, status.Message)}
	for i, phase := range status.Phases {
		branch, below := "├── ", "│   "
		if i == len(status.Phases)-1 {
			branch, below = "└── ", "    "
		}
		lines = append(lines, line(branch, phase.Name, phase.Status, phase.Message))
		for j, step := range phase.Steps {
			branch := below + "├── "
			if j == len(phase.Steps)-1 {
				branch = below + "└── "
			}
			lines = append(lines, line(branch, step.Name, step.Status, step.Message))
		}
	}
	return lines
}

func line(branch, name string, state api.State, message string) string {
	text := fmt.Sprintf("%s%s [%s]", branch, name, state)
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		text += " " + message
	}
	return text
}
