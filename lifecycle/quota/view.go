package quota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
)

// latestSize is how many quotas are kept that are newer than the informer's.
const latestSize = 1000

// view is what admission knows of quotas: what an informer shows and, where that
// is behind, what was last written or read.
type view struct {
	client coreclient.ResourceQuotasGetter
	lister corelisters.ResourceQuotaLister
	synced cache.InformerSynced
	// latest holds quotas by UID.
	latest *lru.Cache
}

func newView(quotas coreinformers.ResourceQuotaInformer, client coreclient.ResourceQuotasGetter) *view {
	return &view{client: client, lister: quotas.Lister(), synced: quotas.Informer().HasSynced, latest: lru.New(latestSize)}
}

// known are the quotas of a namespace, without a request once the informer has
// read them. They share memory and must not be changed.
func (v *view) known(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	if !v.synced() {
		return v.live(ctx, namespace)
	}
	found, err := v.lister.ResourceQuotas(namespace).List(labels.Everything())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	quotas := make([]corev1.ResourceQuota, len(found))
	for i, quota := range found {
		quotas[i] = *v.newer(quota)
	}
	return quotas, nil
}

// newer is the quota that the informer shows, or a later version of it.
func (v *view) newer(quota *corev1.ResourceQuota) *corev1.ResourceQuota {
	kept, ok := v.latest.Get(quota.UID)
	if !ok {
		return quota
	}
	latest, ok := kept.(*corev1.ResourceQuota)
	if ok && older(quota.ResourceVersion, latest.ResourceVersion) {
		return latest
	}
	v.latest.Remove(quota.UID)
	return quota
}

// older compares versions of one object. What is no version of ours is as old
// as any.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// live are the quotas of a namespace as they are now.
func (v *view) live(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	list, err := v.client.ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read resource quotas: %w", err)
	}
	for i := range list.Items {
		v.latest.Add(list.Items[i].UID, &list.Items[i])
	}
	return list.Items, nil
}

// update writes the status of a quota, unless it has another version by now.
func (v *view) update(ctx context.Context, quota *corev1.ResourceQuota) error {
	written, err := v.client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
	if err == nil {
		v.latest.Add(written.UID, written)
	}
	return err
}
