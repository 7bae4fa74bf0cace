package limit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Admission is the admission plugin. It is safe for concurrent use.
type Admission struct {
	*admission.Handler
	lister corelisters.LimitRangeLister
	synced cache.InformerSynced
	client coreclient.LimitRangesGetter
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission returns the plugin. It reads LimitRanges from the informer or, until
// the informer has synced, with the client.
func NewAdmission(ranges coreinformers.LimitRangeInformer, client coreclient.LimitRangesGetter) *Admission {
	return &Admission{
		Handler: admission.NewHandler(admission.Create, admission.Update),
		lister:  ranges.Lister(), synced: ranges.Informer().HasSynced, client: client,
	}
}

// Admit implements admission.MutationInterface. It sets defaults in new and resized pods.
func (p *Admission) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := sizedPod(a)
	if pod == nil {
		return nil
	}
	ranges, err := p.ranges(ctx, a)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		setDefaults(pod, r)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, claim := sizedPod(a), changedClaim(a)
	if pod == nil && claim == nil {
		return nil
	}
	ranges, err := p.ranges(ctx, a)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if pod != nil {
				errs = append(errs, checkPod(pod, item)...)
			} else {
				errs = append(errs, checkClaim(claim, item)...)
			}
		}
	}
	if len(errs) > 0 {
		return admission.NewForbidden(a, utilerrors.NewAggregate(errs))
	}
	return nil
}

// sizedPod returns the pod that a request creates or resizes, or nil.
func sizedPod(a admission.Attributes) *corev1.Pod {
	isCreate := a.GetSubresource() == "" && a.GetOperation() == admission.Create
	isResize := a.GetSubresource() == "resize" && a.GetOperation() == admission.Update
	if a.GetResource().GroupResource() != corev1.Resource("pods") || !isCreate && !isResize {
		return nil
	}
	pod, _ := a.GetObject().(*corev1.Pod)
	return pod
}

// changedClaim returns the claim that a request creates or updates, or nil. It ignores
// a claim that is being deleted: if the claim violates a limit, an update that removes
// its finalizers must still succeed.
func changedClaim(a admission.Attributes) *corev1.PersistentVolumeClaim {
	if a.GetResource().GroupResource() != corev1.Resource("persistentvolumeclaims") || a.GetSubresource() != "" {
		return nil
	}
	if old, ok := a.GetOldObject().(*corev1.PersistentVolumeClaim); ok && old != nil && old.DeletionTimestamp != nil {
		return nil
	}
	claim, _ := a.GetObject().(*corev1.PersistentVolumeClaim)
	return claim
}

// ranges returns the LimitRanges of the request's namespace, sorted by name.
func (p *Admission) ranges(ctx context.Context, a admission.Attributes) ([]*corev1.LimitRange, error) {
	if !p.synced() {
		return p.read(ctx, a)
	}
	ranges, err := p.lister.LimitRanges(a.GetNamespace()).List(labels.Everything())
	if err != nil {
		return nil, readError(a, err)
	}
	slices.SortFunc(ranges, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return ranges, nil
}

// read returns the LimitRanges of the request's namespace from the server.
func (p *Admission) read(ctx context.Context, a admission.Attributes) ([]*corev1.LimitRange, error) {
	list, err := p.client.LimitRanges(a.GetNamespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, readError(a, err)
	}
	ranges := make([]*corev1.LimitRange, len(list.Items))
	for i := range list.Items {
		ranges[i] = &list.Items[i]
	}
	return ranges, nil
}

// readError returns the error of a request if the LimitRanges of its namespace cannot be
// read. The wording is that of Kubernetes.
func readError(a admission.Attributes, err error) error {
	return admission.NewForbidden(a, fmt.Errorf("unable to %s %v at this time because there was an error enforcing limit ranges: %w",
		a.GetOperation(), a.GetResource(), err))
}
