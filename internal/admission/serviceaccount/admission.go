package serviceaccount

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"holdfast.dev/holdfast/internal/access/node"
)

const (
	// defaultName is the service account that a controller creates in every namespace.
	defaultName = "default"
	// The controller creates it shortly after the namespace. A pod that is created in
	// between waits for it: the plugin reads it up to defaultAttempts times, for 10 seconds. The
	// controller of a busy server needs seconds.
	defaultAttempts = 100
	defaultPause    = 100 * time.Millisecond
)

// Admission is the admission plugin for new pods.
type Admission struct {
	*admission.Handler
	lister corelisters.ServiceAccountLister
	client coreclient.ServiceAccountsGetter
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission returns the plugin. It reads service accounts from the lister, and with
// the client those that the lister does not have yet.
func NewAdmission(lister corelisters.ServiceAccountLister, client coreclient.ServiceAccountsGetter) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create), lister: lister, client: client}
}

// Admit implements admission.MutationInterface. It is idempotent.
func (p *Admission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if isMirror(pod) {
		return p.Validate(ctx, a, o)
	}
	// The deprecated field serviceAccount has the same meaning.
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = pod.Spec.DeprecatedServiceAccount
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = defaultName
	}
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	account, err := p.find(ctx, a, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if automounts(pod, account) {
		mountToken(pod)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, account.ImagePullSecrets...)
	}
	return nil
}

// Validate implements admission.ValidationInterface. It checks that the service
// account exists, because a webhook may have set another one after Admit.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if isMirror(pod) {
		return checkMirror(a, pod)
	}
	_, err := p.find(ctx, a, pod.Spec.ServiceAccountName)
	return err
}

func podOf(a admission.Attributes) *corev1.Pod {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, _ := a.GetObject().(*corev1.Pod)
	return pod
}

// find returns the service account. Its error is sent to the client.
func (p *Admission) find(ctx context.Context, a admission.Attributes, name string) (*corev1.ServiceAccount, error) {
	account, err := p.lister.ServiceAccounts(a.GetNamespace()).Get(name)
	if err == nil {
		return account, nil
	}
	attempts := 1
	if name == defaultName {
		attempts = defaultAttempts
	}
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(defaultPause):
			}
		}
		account, err = p.client.ServiceAccounts(a.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return account, nil
		}
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return nil, admission.NewForbidden(a, fmt.Errorf("error looking up service account %s/%s: %w", a.GetNamespace(), name, err))
}

// isMirror reports whether the pod is a mirror pod: the API's copy of a static pod
// that a node runs from a local file.
func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// checkMirror rejects a mirror pod that refers to a service account or a secret. A
// static pod does not use the API, so it has no use for them.
func checkMirror(a admission.Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" || pod.Spec.DeprecatedServiceAccount != "" {
		return admission.NewForbidden(a, errors.New("a mirror pod may not reference service accounts"))
	}
	for _, object := range node.References(pod) {
		if object.Resource == "secrets" {
			return admission.NewForbidden(a, errors.New("a mirror pod may not reference secrets"))
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				return admission.NewForbidden(a, errors.New("a mirror pod may not use ServiceAccountToken volume projections"))
			}
		}
	}
	return nil
}
