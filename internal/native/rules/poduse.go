package rules

import (
	"fmt"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podUseRules are the rules for what the containers of a pod use: claims for devices, names of hosts, restart rules.
func podUseRules() []rule {
	return []rule{
		onStruct(hostnameOverride),
		onStruct(claimedDevices),
		onStruct(func(r *report, c *corev1.PodResourceClaim) {
			if c.Name != "" {
				r.invalidAll(c.Name, validation.IsDNS1123Label(c.Name), "name")
			}
			if c.ResourceClaimName == nil && c.ResourceClaimTemplateName == nil {
				r.invalid(c, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
			}
			if c.ResourceClaimName != nil && c.ResourceClaimTemplateName != nil {
				r.invalid(c, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
			}
		}),
		onField[corev1.PodResourceClaim]("resourceClaimName", subdomainName),
		onField[corev1.PodResourceClaim]("resourceClaimTemplateName", subdomainName),

		onStruct(func(r *report, c *corev1.Container) {
			if c.RestartPolicy == nil && len(c.RestartPolicyRules) > 0 {
				r.required("must specify restartPolicy when restart rules are used", "restartPolicy")
			}
		}),
		require[corev1.ContainerRestartRule]("exitCodes", "must be specified"),
		notRequired[corev1.ContainerRestartRule]("action"),
		onStruct(restartRule),
		onStruct(generatedLabels),
	}
}

func subdomainName(r *report, s string) { r.invalidAll(s, validation.IsDNS1123Subdomain(s)) }

func hostnameOverride(r *report, s *corev1.PodSpec) {
	if s.HostnameOverride == nil {
		return
	}
	name := *s.HostnameOverride
	if s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
		r.forbidden("may not be specified when setHostnameAsFQDN is true", "hostnameOverride")
	}
	if s.HostNetwork {
		r.forbidden("may not be specified when hostNetwork is true", "hostnameOverride")
	}
	if len(name) > 64 {
		r.add(field.ErrorList{field.TooLong(r.path("hostnameOverride"), "", 64)})
	}
	r.invalidAll(name, validation.IsDNS1123Subdomain(name), "hostnameOverride")
}

// claimedDevices checks that the containers use claims of their pod, each of them once.
func claimedDevices(r *report, s *corev1.PodSpec) {
	for i := range s.ResourceClaims {
		same := func(c corev1.PodResourceClaim) bool { return c.Name == s.ResourceClaims[i].Name }
		if s.ResourceClaims[i].Name != "" && slices.ContainsFunc(s.ResourceClaims[:i], same) {
			r.duplicate(s.ResourceClaims[i].Name, "resourceClaims", i, "name")
		}
	}
	check := func(list string, i int, claims []corev1.ResourceClaim) {
		for j, claim := range claims {
			isClaimed := slices.ContainsFunc(s.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == claim.Name })
			if claim.Name == "" || isClaimed {
				continue
			}
			err := field.NotFound(r.path(list, i, "resources", "claims", j), claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(s.ResourceClaims) == 0 {
				err.Detail += " which is empty"
			}
			r.add(field.ErrorList{err})
		}
	}
	for i := range s.InitContainers {
		check("initContainers", i, s.InitContainers[i].Resources.Claims)
	}
	for i := range s.Containers {
		check("containers", i, s.Containers[i].Resources.Claims)
	}
}

func restartRule(r *report, rule *corev1.ContainerRestartRule) {
	actions := []string{string(corev1.ContainerRestartRuleActionRestart), string(corev1.ContainerRestartRuleActionRestartAllContainers)}
	if !slices.Contains(actions, string(rule.Action)) {
		r.unsupported(rule.Action, actions, "action")
	}
}

// generatedLabels checks that the labels that the server adds to the template of a Job have not been set to other values.
func generatedLabels(r *report, j *batchv1.Job) {
	if !r.create || j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	want := func(label, value string) {
		if got, ok := j.Spec.Template.Labels[label]; ok && got != value {
			r.invalid(j.Spec.Template.Labels, fmt.Sprintf("must be '%s'", value), "spec", "template", "metadata", "labels", key(label))
		}
	}
	want("controller-uid", string(j.UID))
	want("job-name", j.Name)
	want(batchv1.ControllerUidLabel, string(j.UID))
	want(batchv1.JobNameLabel, j.Name)
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// validSysctl checks the name of a kernel parameter.
func validSysctl(r *report, name string) {
	if name != "" && (len(name) > 253 || !sysctlName.MatchString(name)) {
		r.invalid(name, fmt.Sprintf("must have at most 253 characters and match regex %s", sysctlName))
	}
}
