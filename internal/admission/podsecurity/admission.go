package podsecurity

import (
	"context"
	"errors"
	"fmt"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"
	podsecurity "k8s.io/pod-security-admission/admission"
	config "k8s.io/pod-security-admission/admission/api"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"
)

// Admission is the admission plugin. It is safe for concurrent use.
type Admission struct {
	*admission.Handler
	library *podsecurity.Admission
}

var _ admission.ValidationInterface = &Admission{}

// NewAdmission returns the plugin. It reads namespaces and pods from the informers, and with
// the client the namespaces that the informer does not have yet.
func NewAdmission(informers coreinformers.Interface, client kubernetes.Interface) (*Admission, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("pod security standards: %w", err)
	}
	library := &podsecurity.Admission{
		Configuration:    configuration(),
		Evaluator:        evaluator,
		Metrics:          recorder(),
		PodSpecExtractor: podsecurity.DefaultPodSpecExtractor{},
		NamespaceGetter:  podsecurity.NamespaceGetterFromListerAndClient(informers.Namespaces().Lister(), client),
		PodLister:        podsecurity.PodListerFromInformer(informers.Pods().Lister()),
	}
	if err := library.CompleteConfiguration(); err != nil {
		return nil, err
	}
	if err := library.ValidateConfiguration(); err != nil {
		return nil, err
	}
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), library: library}, nil
}

// configuration returns Kubernetes' default: a namespace without labels allows every pod,
// and there are no exemptions.
func configuration() *config.PodSecurityConfiguration {
	const level, version = string(api.LevelPrivileged), api.VersionLatest
	return &config.PodSecurityConfiguration{Defaults: config.PodSecurityDefaults{
		Enforce: level, EnforceVersion: version, Audit: level, AuditVersion: version, Warn: level, WarnVersion: version,
	}}
}

// recorder returns the metrics of the process, pod_security_evaluations_total and others. It
// registers them on its first call.
var recorder = sync.OnceValue(func() metrics.Recorder {
	r := metrics.NewPrometheusRecorder(api.GetAPIVersion())
	r.MustRegister(legacyregistry.MustRegister)
	return r
})

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	if resource != corev1.Resource("namespaces") && !p.library.PodSpecExtractor.HasPodSpec(resource) {
		return nil
	}
	result := p.library.Validate(ctx, attributes{a})
	for _, text := range result.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	for key, value := range result.AuditAnnotations {
		audit.AddAuditAnnotation(ctx, api.AuditAnnotationPrefix+key, value)
	}
	if result.Allowed {
		return nil
	}
	if result.Result == nil {
		return admission.NewForbidden(a, errors.New("Not allowed by PodSecurity")) //nolint:staticcheck // Kubernetes' wording
	}
	return &apierrors.StatusError{ErrStatus: *result.Result}
}

// attributes passes a request to the library. The server has versioned objects, as the
// library needs them.
type attributes struct{ admission.Attributes }

var _ api.Attributes = attributes{}

// GetOperation implements api.Attributes.
func (a attributes) GetOperation() admissionv1.Operation {
	return admissionv1.Operation(a.Attributes.GetOperation())
}

// GetObject implements api.Attributes.
func (a attributes) GetObject() (runtime.Object, error) { return a.Attributes.GetObject(), nil }

// GetOldObject implements api.Attributes.
func (a attributes) GetOldObject() (runtime.Object, error) { return a.Attributes.GetOldObject(), nil }

// GetUserName implements api.Attributes.
func (a attributes) GetUserName() string { return a.GetUserInfo().GetName() }
