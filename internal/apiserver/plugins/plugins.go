package plugins

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/admission/certificate"
	"holdfast.dev/holdfast/internal/admission/defaultclass"
	"holdfast.dev/holdfast/internal/admission/escalation"
	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/admission/limit"
	"holdfast.dev/holdfast/internal/admission/noderestriction"
	"holdfast.dev/holdfast/internal/admission/podsecurity"
	"holdfast.dev/holdfast/internal/admission/quota"
	"holdfast.dev/holdfast/internal/admission/revocation"
	"holdfast.dev/holdfast/internal/admission/scheduling"
	"holdfast.dev/holdfast/internal/admission/serviceaccount"
	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

const (
	// VolumeProtection is the plugin whose finalizers the controllers remove.
	VolumeProtection = "StorageObjectInUseProtection"
	// certificateRequester is the plugin that records the requester of a certificate.
	certificateRequester = "CertificateRequester"
	// roleEscalation is the plugin that refuses a role or a binding with rights that its
	// author does not have.
	roleEscalation = "RoleEscalation"
	// credentialRevocation is the plugin that protects the list of revoked credentials.
	credentialRevocation = "CredentialRevocation"
)

// pluginOrder is the order of the admission plugins. It is that of Kubernetes, where
// Kubernetes has the plugin.
var pluginOrder = []string{
	lifecycle.PluginName,
	"LimitRanger",
	"ServiceAccount",
	"NodeRestriction",
	"PodSecurity",
	"Priority",
	"DefaultTolerationSeconds",
	"DefaultStorageClass",
	VolumeProtection,
	"PersistentVolumeClaimResize",
	"RuntimeClass",
	certificateRequester,
	"CertificateApproval",
	"CertificateSigning",
	"ClusterTrustBundleAttest",
	"CertificateSubjectRestriction",
	"DefaultIngressClass",
	"PodTopologyLabels",
	"PodResizeValidator",
	roleEscalation,
	credentialRevocation,
	// A deletion that is refused because an object must be kept is no matter for webhooks, and no package records it.
	keep.Name,

	// The policies and webhooks of users.
	mutatingpolicy.PluginName,
	mutatingwebhook.PluginName,
	// The rules of operator packages and of policies check an object as it will be stored.
	instance.Name,
	policies.PluginName,
	validatingpolicy.PluginName,
	validatingwebhook.PluginName,

	// A quota is charged for objects that will be stored, so it comes after every plugin
	// that may refuse the object.
	"ResourceQuota",
}

// fixedPlugins are the plugins that no flag turns off. Kubernetes records the requester of a
// certificate and refuses role escalation in its registries, where no flag applies either.
// The others protect the list of revoked credentials, keep objects, and enforce the rules of operator packages and of policies.
var fixedPlugins = []string{certificateRequester, roleEscalation, credentialRevocation, keep.Name, instance.Name, policies.PluginName}

// constructors are functions that create plugins, by the name of the plugin.
type constructors map[string]func() admission.Interface

// newPlugins returns the plugins that k8s.io/apiserver does not have, by name. A plugin
// that is turned off is never created, so its informers do not run.
func newPlugins(b start.Base, identity identity.Stage, rules *policies.Rules, kept *keep.Plugin) map[string]admission.Factory {
	core, client := b.Clients.Informers.Core().V1(), b.Clients.Typed
	factories := map[string]admission.Factory{
		"PodSecurity": func(io.Reader) (admission.Interface, error) { return podsecurity.NewAdmission(core, client) },
		keep.Name:     func(io.Reader) (admission.Interface, error) { return kept, nil },
	}
	if rules != nil {
		factories[policies.PluginName] = func(io.Reader) (admission.Interface, error) { return rules.Plugin(), nil }
	}
	for _, part := range []constructors{podPlugins(b, identity.Relations), volumePlugins(b.Clients), accessPlugins(b, identity)} {
		for name, create := range part {
			factories[name] = func(io.Reader) (admission.Interface, error) { return create(), nil }
		}
	}
	return factories
}

// podPlugins are the plugins that complete or limit pods, and the quotas of a namespace.
func podPlugins(b start.Base, relations *node.Relations) constructors {
	c := b.Clients
	core, client := c.Informers.Core().V1(), c.Typed
	return constructors{
		"LimitRanger": func() admission.Interface { return limit.NewAdmission(core.LimitRanges(), client.CoreV1()) },
		"ServiceAccount": func() admission.Interface {
			return serviceaccount.NewAdmission(core.ServiceAccounts().Lister(), client.CoreV1())
		},
		"NodeRestriction": func() admission.Interface {
			return noderestriction.New(noderestriction.Config{
				Pods: core.Pods().Lister(), Client: client.CoreV1(), APIAudiences: b.Generic.Authentication.APIAudiences,
				Relations: relations,
			})
		},
		"Priority": func() admission.Interface {
			return scheduling.NewPriority(c.Informers.Scheduling().V1().PriorityClasses(), client.SchedulingV1())
		},
		"DefaultTolerationSeconds": func() admission.Interface { return scheduling.NewTolerations() },
		"RuntimeClass": func() admission.Interface {
			return scheduling.NewRuntimeClass(c.Informers.Node().V1().RuntimeClasses(), client.NodeV1())
		},
		"PodTopologyLabels":  func() admission.Interface { return scheduling.NewTopology(core.Nodes(), client.CoreV1()) },
		"PodResizeValidator": func() admission.Interface { return scheduling.NewResize(core.Nodes(), client.CoreV1()) },
		"ResourceQuota":      func() admission.Interface { return quota.NewAdmission(core.ResourceQuotas(), client.CoreV1()) },
	}
}

// volumePlugins are the plugins for PersistentVolumeClaims, PersistentVolumes and Ingresses.
func volumePlugins(c *start.Clients) constructors {
	classes := c.Informers.Storage().V1().StorageClasses
	return constructors{
		"DefaultStorageClass": func() admission.Interface { return defaultclass.NewStorage(classes()) },
		"DefaultIngressClass": func() admission.Interface {
			return defaultclass.NewIngress(c.Informers.Networking().V1().IngressClasses())
		},
		"PersistentVolumeClaimResize": func() admission.Interface { return volume.NewResize(classes(), c.Typed.StorageV1()) },
		VolumeProtection:              func() admission.Interface { return volume.NewProtection() },
	}
}

// accessPlugins are the plugins for credentials and roles, and those of operator packages.
func accessPlugins(b start.Base, identity identity.Stage) constructors {
	rights := b.Generic.Authorization.Authorizer
	plugins := constructors{
		certificateRequester:            func() admission.Interface { return certificate.NewRequester() },
		"CertificateApproval":           func() admission.Interface { return certificate.NewApproval(rights) },
		"CertificateSigning":            func() admission.Interface { return certificate.NewSigning(rights) },
		"ClusterTrustBundleAttest":      func() admission.Interface { return certificate.NewAttest(rights) },
		"CertificateSubjectRestriction": func() admission.Interface { return certificate.NewSubject() },
		roleEscalation: func() admission.Interface {
			return escalation.New(identity.Roles, rights, escalation.LiveRoles(b.Clients.Typed.RbacV1()))
		},
		credentialRevocation: func() admission.Interface { return revocation.New(rights) },
	}
	if !b.Config.WithoutOperators {
		plugins[instance.Name] = func() admission.Interface { return newOperatorAdmission(b.Clients, identity.Operators) }
	}
	return plugins
}

// newOperatorAdmission returns the plugin with the rules of operator packages.
func newOperatorAdmission(clients *start.Clients, shared identity.Operators) admission.Interface {
	return instance.NewPlugin(instance.Config{
		Versions: instance.LiveVersions(clients.Dynamic), Keys: shared.Keys, Deletions: shared.Deletions,
		MayGet: instance.ReviewedVersions(shared.Reviews),
		Discloses: func(ctx context.Context, _ authorship.User, _ types.NamespacedName) bool {
			return disclosure.Allowed(ctx)
		},
		Instances: instance.LiveInstances(clients.Dynamic, clients.Typed.CoreV1().Namespaces()),
		MayRead:   instance.ReviewedReaders(shared.Reviews),
	})
}
