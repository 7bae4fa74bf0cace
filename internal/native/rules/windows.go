package rules

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// windowsRules are the rules for pods on Windows.
func windowsRules() []rule {
	return []rule{
		onField[corev1.WindowsSecurityContextOptions]("gmsaCredentialSpecName", subdomainName),
		onField[corev1.WindowsSecurityContextOptions]("gmsaCredentialSpec", func(r *report, s string) {
			switch {
			case s == "":
				r.invalid(s, "gmsaCredentialSpec cannot be an empty string")
			case len(s) > 64<<10:
				r.invalid(s, "gmsaCredentialSpec size must be under 64 KiB")
			}
		}),
		onField[corev1.WindowsSecurityContextOptions]("runAsUserName", windowsUser),
		onStruct(hostProcesses),
		onStruct(systemFields),
	}
}

var (
	netBIOSName   = regexp.MustCompile(`^[^."*/:<>?\\|][^"*/:<>?\\|]{0,14}$`)
	windowsDomain = regexp.MustCompile(`^[0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?(\.[0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?)*$`)
)

// windowsUser checks the name of a user, which can have a domain: DOMAIN\USER.
func windowsUser(r *report, name string) {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		r.invalid(name, "runAsUserName cannot be an empty string")
		return
	case strings.ContainsFunc(name, isControl):
		r.invalid(name, "runAsUserName cannot contain control characters")
		return
	case len(parts) > 2:
		r.invalid(name, "runAsUserName cannot contain more than one backslash")
		return
	}
	user := parts[len(parts)-1]
	domain := strings.Join(parts[:len(parts)-1], "")
	for _, problem := range []struct {
		detail string
		found  bool
	}{
		{"Domain length must be under 256 characters", len(domain) >= 256},
		{"Domain doesn't match the NetBios nor the DNS format", len(parts) > 1 && !netBIOSName.MatchString(domain) && !windowsDomain.MatchString(domain)},
		{"User cannot be empty", user == ""},
		{"User length must not be longer than 104 characters", len(user) > 104},
		{"User cannot contain only periods or spaces", user != "" && strings.Trim(user, ". ") == ""},
		{`User cannot contain the following characters: "/\:;|=,+*?<>@[]`, strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`)},
	} {
		if problem.found {
			r.invalid(name, "runAsUserName's "+problem.detail)
		}
	}
}

// hostProcesses checks that either all containers of a pod run as processes of the host, or none.
func hostProcesses(r *report, s *corev1.PodSpec) {
	var ofPod *bool
	if s.SecurityContext != nil && s.SecurityContext.WindowsOptions != nil {
		ofPod = s.SecurityContext.WindowsOptions.HostProcess
	}
	all, host := 0, 0
	eachContainer(r, s, func(c *corev1.Container) {
		all++
		own := ofPod
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil && c.SecurityContext.WindowsOptions.HostProcess != nil {
			own = c.SecurityContext.WindowsOptions.HostProcess
		}
		if ofPod != nil && *own != *ofPod {
			r.invalid(*own, fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *ofPod),
				"securityContext", "windowsOptions", "hostProcess")
		}
		if own != nil && *own {
			host++
		}
	})
	if host > 0 && host != all {
		r.invalid("", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if host > 0 && !s.HostNetwork {
		r.invalid(s.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers", "hostNetwork")
	}
}

// isControl reports whether a character is a control character of ASCII.
func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// systemFields rejects the fields of another operating system than the one that the pod requires.
func systemFields(r *report, s *corev1.PodSpec) {
	if s.OS == nil {
		return
	}
	context := s.SecurityContext
	if context == nil {
		context = &corev1.PodSecurityContext{}
	}
	switch s.OS.Name {
	case corev1.Linux:
		const detail = "windows options cannot be set for a linux pod"
		r.under(func() { refuseSet(r, detail, setField{"windowsOptions", context.WindowsOptions != nil}) }, "securityContext")
		eachContainer(r, s, func(c *corev1.Container) {
			if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
				r.forbidden(detail, "securityContext", "windowsOptions")
			}
		})
	case corev1.Windows:
		const detail = "cannot be set for a windows pod"
		refuseSet(r, detail, setField{"hostUsers", s.HostUsers != nil}, setField{"hostPID", s.HostPID}, setField{"hostIPC", s.HostIPC},
			setField{"shareProcessNamespace", s.ShareProcessNamespace != nil})
		r.under(func() { refuseOthers(r, detail, reflect.ValueOf(context).Elem()) }, "securityContext")
		eachContainer(r, s, func(c *corev1.Container) {
			if c.SecurityContext != nil {
				r.under(func() { refuseOthers(r, detail, reflect.ValueOf(c.SecurityContext).Elem()) }, "securityContext")
			}
		})
	}
}

// refuseOthers rejects the fields of a security context that Windows does not have.
func refuseOthers(r *report, detail string, context reflect.Value) {
	for i := range context.NumField() {
		switch name := jsonName(context.Type().Field(i)); {
		case name == "windowsOptions" || name == "runAsNonRoot":
		case name == "sysctls" && context.Field(i).Len() == 0:
		case !context.Field(i).IsZero():
			r.forbidden(detail, name)
		}
	}
}
