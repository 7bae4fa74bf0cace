package ownership

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/holdfast/value"
)

// Act is the kind of a write.
type Act int

const (
	// Imperative is a write of single fields, such as kubectl scale.
	Imperative Act = iota
	// Edit is an imperative write of kubectl edit.
	Edit
	// Replace replaces an object with a file.
	Replace
	// Apply is a client-side apply.
	Apply
	// ServerSideApply is a server-side apply.
	ServerSideApply
	// Controller is a write of a controller, which is not judged.
	Controller
)

// Request is what the request of a write says about the writer.
type Request struct {
	// Command is the header Kubectl-Command.
	Command string
	// FieldManager is the query parameter fieldManager.
	FieldManager string
	// UserAgent is the header User-Agent.
	UserAgent string
	// User is the name of the authenticated user.
	User string
	// ServerSide means that the request is a server-side apply, Forced that it takes
	// fields from other managers.
	ServerSide, Forced bool
	// Force is set by the header Holdfast-Force: true.
	Force bool
}

// Writer is the client that makes a write.
type Writer struct {
	Act Act
	// Command is the name of the writer in messages: its command line, such as
	// "kubectl set image", or else its field manager or program.
	Command string
	// Exact means that Command is a command line that the client sent.
	Exact bool
	// Manager is the name of the writer in managed fields.
	Manager string
	// Force means that an edit or a server-side apply is forced.
	Force bool
}

const (
	// ForceManager is the field manager with which stock kubectl forces an edit.
	ForceManager = "force"
	// EditManager is the field manager under which a forced edit is stored.
	EditManager = "kubectl-edit"

	applyManager   = "kubectl-client-side-apply"
	managerPrefix  = "kubectl-"
	maxManagerName = 128
)

// commandPattern matches the command lines that the server accepts from the header
// Kubectl-Command and repeats in messages.
var commandPattern = regexp.MustCompile(`^(kubectl|holdfast)( [a-z-]+){1,4}$`)

// ParseWriter returns the writer of a request.
func ParseWriter(r Request) Writer {
	w := Writer{Manager: r.FieldManager}
	agent := program(r.UserAgent)
	if w.Manager == "" {
		w.Manager = agent
	}
	words := ""
	switch {
	case commandPattern.MatchString(r.Command):
		w.Command, w.Exact = r.Command, true
		_, words, _ = strings.Cut(r.Command, " ")
	case r.FieldManager == applyManager:
		w.Command, words = "kubectl apply", "apply"
	case strings.HasPrefix(r.FieldManager, managerPrefix):
		words = strings.TrimPrefix(r.FieldManager, managerPrefix)
		w.Command = "kubectl " + words
	case r.FieldManager != "":
		w.Command = r.FieldManager
	default:
		w.Command = agent
	}
	w.Command = name(w.Command)
	w.Act = act(words)
	if !w.Exact && isMachine(r.User) && !strings.HasPrefix(r.FieldManager, managerPrefix) {
		w.Act = Controller
	}
	switch {
	case r.ServerSide && w.Act != Controller:
		w.Act, w.Force = ServerSideApply, r.Forced
	case w.Act == Edit:
		w.Force = r.Force || r.FieldManager == ForceManager
	}
	if w.Act == Edit && w.Manager == ForceManager {
		w.Manager = EditManager
	}
	return w
}

// IsSilent reports whether [Judge] has no finding and no note for any write of the writer to an object without a last-applied configuration, if the
// kind is known. So it is for a server-side apply that is not forced: the server refuses it if it changes a field of another manager.
func (w Writer) IsSilent() bool { return w.Act == ServerSideApply && !w.Force }

// program returns the program name in a User-Agent as the server writes it into
// managed fields: its printable characters, cut to the length of a field manager.
func program(userAgent string) string {
	agent, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range agent {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxManagerName {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// act returns the kind of a kubectl command.
func act(words string) Act {
	switch words {
	case "apply", "diff":
		return Apply
	case "edit":
		return Edit
	case "replace":
		return Replace
	}
	return Imperative
}

// isMachine reports whether a user is a service account or a component of
// Kubernetes. The administrator of some distributions, and requests without a user,
// also have names of the system.
func isMachine(user string) bool {
	switch user {
	case "system:admin", "system:anonymous", "system:unsecured":
		return false
	}
	return strings.HasPrefix(user, "system:")
}

// name returns the name of a client for messages: cut, and printable.
func name(text string) string {
	if text == "" {
		return "unknown"
	}
	return printable(value.CutBytes(text, maxManagerName))
}
