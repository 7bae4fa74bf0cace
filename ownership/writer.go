package ownership

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Act is what a write counts as.
type Act int

const (
	// Imperative is a write that no file will repeat.
	Imperative Act = iota
	// Edit is an imperative write of a person who sits in front of an editor.
	Edit
	// Replace puts a file in the place of an object.
	Replace
	// Apply is a client-side apply.
	Apply
	// ServerSideApply is an apply that the server merges.
	ServerSideApply
	// Controller is a write of a program that is nobody's hand.
	Controller
)

// Request is what a write says about who makes it.
type Request struct {
	// Command is the header Kubectl-Command.
	Command string
	// FieldManager is the query parameter fieldManager.
	FieldManager string
	// UserAgent is the header User-Agent.
	UserAgent string
	// User is the name of the authenticated user.
	User string
	// ServerSide says that the request is a server-side apply, Forced that
	// it takes fields from others.
	ServerSide, Forced bool
	// Force is set by the header Holdfast-Force: true.
	Force bool
}

// Writer is who makes a write.
type Writer struct {
	Act Act
	// Command is the name the writer goes by: "kubectl set image", or else its
	// field manager or program.
	Command string
	// Exact says that Command is a command line and not a guess.
	Exact bool
	// Manager is what managed fields call the writer.
	Manager string
	// Force says that an edit, or a server-side apply, takes what it wants.
	Force bool
}

const (
	// ForceManager is the field manager by which stock kubectl says that an edit
	// is forced.
	ForceManager = "force"
	// EditManager is what a forced edit is stored as.
	EditManager = "kubectl-edit"

	applyManager   = "kubectl-client-side-apply"
	managerPrefix  = "kubectl-"
	maxManagerName = 128
)

// commandPattern is what a command line in a header has to look like to be
// believed and repeated.
var commandPattern = regexp.MustCompile(`^(kubectl|holdfast)( [a-z-]+){1,4}$`)

// ParseWriter tells who makes a write.
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

// program is the name in a User-Agent, as the server writes it into managed fields:
// what prints of it, and no more than a field manager may have.
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

// isMachine says whether a user is a service account or a part of Kubernetes.
func isMachine(user string) bool { return strings.HasPrefix(user, "system:") }

// name bounds what a client calls itself.
func name(text string) string {
	if text == "" {
		return "unknown"
	}
	if len(text) > maxManagerName {
		text = strings.ToValidUTF8(text[:maxManagerName], "") + "…"
	}
	return printable(text)
}
