package aggregation

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/reconcile"
)

// TrustName is the name of the ConfigMap in kube-system from which other API servers read the
// certificate authorities that they trust. The name is fixed in k8s.io/apiserver.
const TrustName = "extension-apiserver-authentication"

// recheckTrust is how often the server compares the ConfigMap with its certificate
// authorities, which can change in their files.
const recheckTrust = time.Minute

// Trust is what other API servers need to authenticate the clients of this server, and this
// server as their proxy.
type Trust struct {
	// ClientCA returns the certificate authorities of client certificates, in PEM.
	ClientCA func() []byte
	// ProxyCA has the certificate authorities of the client certificate of this server.
	ProxyCA []byte
	// ProxyNames are the common names of that certificate; empty allows all.
	ProxyNames []string
	// The names of the headers with the user, and the prefixes of those with further values.
	UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// Publish keeps the ConfigMap up to date until ctx ends. Several servers with different
// authorities may share the ConfigMap: each adds what is missing.
func (t Trust) Publish(ctx context.Context, client kubernetes.Interface) {
	informer := coreinformers.NewFilteredConfigMapInformer(client, metav1.NamespaceSystem, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", TrustName).String()
	})
	loop := reconcile.New(reconcile.Config[string]{
		Reconcile: func(ctx context.Context, _ string) (reconcile.Result, error) {
			return reconcile.Result{After: recheckTrust}, t.write(ctx, client, informer.GetStore())
		},
	})
	enqueue := func(any) { loop.Add(TrustName) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(any, any) { loop.Add(TrustName) }, DeleteFunc: enqueue,
	}); err != nil {
		// The informer is new, so it has not stopped and takes handlers.
		panic(err)
	}
	loop.Add(TrustName)
	go informer.RunWithContext(ctx)
	loop.Run(ctx, informer.HasSynced)
}

// write creates the ConfigMap or adds what it lacks.
func (t Trust) write(ctx context.Context, client kubernetes.Interface, store cache.Store) error {
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: TrustName}}
	obj, exists, err := store.GetByKey(metav1.NamespaceSystem + "/" + TrustName)
	if err != nil {
		return err
	}
	if exists {
		stored = obj.(*corev1.ConfigMap)
	}
	next := stored.DeepCopy()
	if next.Data, err = t.dataWith(stored.Data, time.Now()); err != nil {
		return err
	}
	switch {
	case !exists:
		_, err = configMaps.Create(ctx, next, metav1.CreateOptions{})
	case !maps.Equal(next.Data, stored.Data):
		_, err = configMaps.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", TrustName, err)
	}
	return nil
}

// dataWith returns the stored data of the ConfigMap with the values of this server. It drops expired
// authorities.
func (t Trust) dataWith(stored map[string]string, now time.Time) (map[string]string, error) {
	data := map[string]string{}
	maps.Copy(data, stored)
	for key, own := range map[string][]byte{"client-ca-file": t.ClientCA(), "requestheader-client-ca-file": t.ProxyCA} {
		if merged := mergeAuthorities([]byte(stored[key]), own, now); len(merged) > 0 {
			data[key] = string(merged)
		}
	}
	if len(t.ProxyCA) == 0 {
		return data, nil
	}
	for key, own := range map[string][]string{
		"requestheader-username-headers":     t.UserHeaders,
		"requestheader-uid-headers":          t.UIDHeaders,
		"requestheader-group-headers":        t.GroupHeaders,
		"requestheader-extra-headers-prefix": t.ExtraPrefixes,
		"requestheader-allowed-names":        t.ProxyNames,
	} {
		var before []string
		// If the stored value is not a JSON list, the list of this server replaces it.
		_ = json.Unmarshal([]byte(stored[key]), &before)
		merged := slices.Clone(before)
		for _, value := range own {
			if !slices.Contains(merged, value) {
				merged = append(merged, value)
			}
		}
		if merged == nil {
			merged = []string{}
		}
		encoded, err := json.Marshal(merged)
		if err != nil {
			return nil, err
		}
		data[key] = string(encoded)
	}
	return data, nil
}

// mergeAuthorities returns the certificates of both bundles, each once and without those that
// have expired. The stored ones come first, so that two servers agree on the order.
func mergeAuthorities(stored, own []byte, now time.Time) []byte {
	var merged bytes.Buffer
	var seen [][]byte
	for rest := slices.Concat(stored, []byte("\n"), own); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return merged.Bytes()
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		known := slices.ContainsFunc(seen, func(raw []byte) bool { return bytes.Equal(raw, block.Bytes) })
		if err != nil || known || now.After(certificate.NotAfter) {
			continue
		}
		seen = append(seen, block.Bytes)
		// A buffer in memory does not fail.
		_ = pem.Encode(&merged, &pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})
	}
}
