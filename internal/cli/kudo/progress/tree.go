package progress

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/api"
)

// Tree returns a plan as a tree, with one line for the plan and each phase and step.
func Tree(status api.PlanStatus) []string {
	lines := []string{line("", status.Name, status.Status, ownOfPlan(status))}
	for i, phase := range status.Phases {
		branch, below := "├── ", "│   "
		if i == len(status.Phases)-1 {
			branch, below = "└── ", "    "
		}
		lines = append(lines, line(branch, phase.Name, phase.Status, own(phase.Message, phase.Steps)))
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

// own returns the message of a phase or a plan, empty if it repeats that of a step, which has a line of its own.
func own(message string, steps []api.StepStatus) string {
	for _, step := range steps {
		if step.Message != "" && strings.HasSuffix(message, step.Message) {
			return ""
		}
	}
	return message
}

// ownOfPlan returns the message of a plan, empty if it repeats that of a step.
func ownOfPlan(status api.PlanStatus) string {
	message := status.Message
	for _, phase := range status.Phases {
		message = own(message, phase.Steps)
	}
	return message
}

// line returns a name with its state and message.
func line(branch, name string, state api.State, message string) string {
	text := fmt.Sprintf("%s%s [%s]", branch, name, state)
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		text += " " + message
	}
	return text
}
