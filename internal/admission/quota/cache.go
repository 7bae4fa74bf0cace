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

// latestSize is the number of quotas that quotaCache.latest can hold.
const latestSize = 1000

// quotaCache reads and writes quotas for the admission plugin. It reads them from the
// informer. If it has itself read or written a newer version, it uses that instead.
type quotaCache struct {
	client coreclient.ResourceQuotasGetter
	lister corelisters.ResourceQuotaLister
	synced cache.InformerSynced
	// latest holds the newest known version of quotas, by UID.
	latest *lru.Cache
}

func newQuotaCache(quotas coreinformers.ResourceQuotaInformer, client coreclient.ResourceQuotasGetter) *quotaCache {
	return &quotaCache{client: client, lister: quotas.Lister(), synced: quotas.Informer().HasSynced, latest: lru.New(latestSize)}
}

// cached returns the quotas of a namespace. It sends no request once the informer has
// synced. The quotas share memory with the cache and must not be modified.
func (c *quotaCache) cached(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	if !c.synced() {
		return c.read(ctx, namespace)
	}
	found, err := c.lister.ResourceQuotas(namespace).List(labels.Everything())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	quotas := make([]corev1.ResourceQuota, len(found))
	for i, quota := range found {
		quotas[i] = *c.newer(quota)
	}
	return quotas, nil
}

// newer returns the given quota of the informer, or a newer version of it.
func (c *quotaCache) newer(quota *corev1.ResourceQuota) *corev1.ResourceQuota {
	kept, ok := c.latest.Get(quota.UID)
	if !ok {
		return quota
	}
	latest, ok := kept.(*corev1.ResourceQuota)
	if ok && older(quota.ResourceVersion, latest.ResourceVersion) {
		return latest
	}
	c.latest.Remove(quota.UID)
	return quota
}

// older reports whether resourceVersion a is older than b. It returns false if one of
// them is not a valid version.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// read returns the quotas of a namespace from the server.
func (c *quotaCache) read(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	list, err := c.client.ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read resource quotas: %w", err)
	}
	for i := range list.Items {
		c.latest.Add(list.Items[i].UID, &list.Items[i])
	}
	return list.Items, nil
}

// update writes the status of a quota. It returns a conflict error if the stored quota
// has another version.
func (c *quotaCache) update(ctx context.Context, quota *corev1.ResourceQuota) error {
	written, err := c.client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
	if err == nil {
		c.latest.Add(written.UID, written)
	}
	return err
}
