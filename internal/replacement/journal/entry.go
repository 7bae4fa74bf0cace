package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Label marks a Secret as the journal of a replacement, with the value "replacement".
	Label = "holdfast.dev/journal"
	// ObjectAnnotation names the object that a journal is about, as KIND/NAME.
	ObjectAnnotation = "holdfast.dev/journal-of"
	// LabelValue is the value of Label.
	LabelValue = "replacement"
	// ClusterNamespace has the journals of objects that are in no namespace.
	ClusterNamespace = metav1.NamespaceSystem

	// secretType is the type of the Secrets that are journals of replacements.
	secretType corev1.SecretType = "holdfast.dev/replacement"

	// The keys of the Secret. The values of the objects can be given to kubectl create.
	entryKey, oldKey, newKey = "journal", "old", "new"
	// maxRefusal is the number of bytes of an answer of the server that a journal keeps.
	maxRefusal = 4 << 10
	// reserve is the number of bytes that every journal keeps free for such an answer: JSON writes a byte as six at most.
	reserve = 6 * maxRefusal
)

// Entry is the journal of one replacement.
type Entry struct {
	// Resource is the resource of the object, in the version of the file.
	Resource schema.GroupVersionResource
	// UID and ResourceVersion are those of the old object. Nothing else is deleted.
	UID             types.UID
	ResourceVersion string
	// Old is the old object, in a form in which it can be created again, and New the new one. New has the annotation of client-side apply,
	// by which a later client recognizes it.
	Old, New *unstructured.Unstructured
	// User and Host began the replacement.
	User, Host   string
	FieldManager string
	Propagation  metav1.DeletionPropagation
	// Refusal is why the server refused the new object after the old one was gone. If it is not empty, the old object is created again.
	Refusal string

	// Begun is when the server stored the journal, by its clock. Stored is the Secret. Both are set by Read.
	Begun  time.Time
	Stored *corev1.Secret
}

// record is the part of an entry that is not an object, in JSON.
type record struct {
	Group           string                     `json:"group"`
	Version         string                     `json:"version"`
	Resource        string                     `json:"resource"`
	Namespace       string                     `json:"namespace,omitempty"`
	Name            string                     `json:"name"`
	UID             types.UID                  `json:"uid"`
	ResourceVersion string                     `json:"resourceVersion"`
	User            string                     `json:"user"`
	Host            string                     `json:"host,omitempty"`
	FieldManager    string                     `json:"fieldManager,omitempty"`
	Propagation     metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
	Refusal         string                     `json:"refusal,omitempty"`
}

// Object returns kind and name of the object.
func (e *Entry) Object() string { return e.New.GetKind() + "/" + e.New.GetName() }

// Key returns the namespace and the name of the journal of an object. namespace is empty if the object is in none.
func Key(resource schema.GroupResource, namespace, name string) types.NamespacedName {
	sum := sha256.Sum256([]byte(resource.Group + "/" + resource.Resource + "/" + namespace + "/" + name))
	key := types.NamespacedName{Namespace: namespace, Name: "holdfast-replacement-" + hex.EncodeToString(sum[:10])}
	if namespace == "" {
		key.Namespace = ClusterNamespace
	}
	return key
}

// Secret returns the journal as a Secret. It returns an error if the journal is larger than a Secret may be.
func (e *Entry) Secret() (*corev1.Secret, error) {
	if len(e.Refusal) > maxRefusal {
		e.Refusal = e.Refusal[:maxRefusal]
	}
	of := record{
		Group: e.Resource.Group, Version: e.Resource.Version, Resource: e.Resource.Resource, Namespace: e.New.GetNamespace(), Name: e.New.GetName(),
		UID: e.UID, ResourceVersion: e.ResourceVersion, User: e.User, Host: e.Host, FieldManager: e.FieldManager, Propagation: e.Propagation,
		Refusal: e.Refusal,
	}
	key := Key(e.Resource.GroupResource(), of.Namespace, of.Name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{Label: LabelValue},
			Annotations: map[string]string{ObjectAnnotation: e.Object()},
		},
		Type: secretType, Data: map[string][]byte{},
	}
	if e.Stored != nil {
		secret.ObjectMeta = *e.Stored.ObjectMeta.DeepCopy()
	}
	size := 0
	if e.Refusal == "" {
		size = reserve
	}
	for key, value := range map[string]any{entryKey: of, oldKey: e.Old, newKey: e.New} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode the journal: %w", err)
		}
		secret.Data[key] = text
		size += len(text)
	}
	if size > corev1.MaxSecretSize {
		return nil, fmt.Errorf("the journal would have %d bytes, because it has the old and the new object, and a Secret may have %d: "+
			"the object is too large to be replaced on this server", size, corev1.MaxSecretSize)
	}
	return secret, nil
}

// Read returns the journal that a Secret has.
func Read(secret *corev1.Secret) (*Entry, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the Secret %s/%s is not a journal of a replacement: %w", secret.Namespace, secret.Name, fmt.Errorf(format, args...))
	}
	if secret.Type != secretType {
		return nil, wrong("its type is %q, not %q", secret.Type, secretType)
	}
	var of record
	if err := json.Unmarshal(secret.Data[entryKey], &of); err != nil {
		return nil, wrong("%s: %w", entryKey, err)
	}
	e := &Entry{
		Resource: schema.GroupVersionResource{Group: of.Group, Version: of.Version, Resource: of.Resource}, UID: of.UID,
		ResourceVersion: of.ResourceVersion, User: of.User, Host: of.Host, FieldManager: of.FieldManager, Propagation: of.Propagation,
		Refusal: of.Refusal, Begun: secret.CreationTimestamp.Time, Stored: secret,
	}
	for key, object := range map[string]**unstructured.Unstructured{oldKey: &e.Old, newKey: &e.New} {
		*object = &unstructured.Unstructured{}
		if err := (*object).UnmarshalJSON(secret.Data[key]); err != nil {
			return nil, wrong("%s: %w", key, err)
		}
		if got := (*object); got.IsList() || got.GetName() != of.Name || got.GetNamespace() != of.Namespace {
			return nil, wrong("%s: the object is %s/%s, not %s/%s", key, got.GetNamespace(), got.GetName(), of.Namespace, of.Name)
		}
	}
	// A Secret that was copied under another name must not delete anything.
	if want := Key(e.Resource.GroupResource(), of.Namespace, of.Name); want != (types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}) {
		return nil, wrong("the journal of %s %s/%s is %s", of.Resource, of.Namespace, of.Name, want)
	}
	if of.Resource == "" || of.Version == "" || of.UID == "" || of.ResourceVersion == "" {
		return nil, wrong("%s: resource, version, uid and resourceVersion are required", entryKey)
	}
	return e, nil
}
