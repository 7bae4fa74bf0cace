package keep_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// nobody is an authorizer that allows nothing.
type nobody struct{}

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// An object that an earlier release stored may have a value that is not valid. It keeps nothing, may stay, and may go.
func TestStoredValues(t *testing.T) {
	t.Parallel()
	plugin := keep.New(nobody{})
	configMap := func(annotations map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}
	}
	value := func(text string) map[string]string { return map[string]string{keep.Annotation: text} }
	attributes := func(operation admission.Operation, obj, old *corev1.ConfigMap) admission.Attributes {
		a := admission.NewAttributesRecord(nil, old, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "default", "a",
			corev1.SchemeGroupVersion.WithResource("configmaps"), "", operation, nil, false, &user.DefaultInfo{Name: "u"})
		if obj != nil {
			a = admission.NewAttributesRecord(obj, old, a.GetKind(), "default", "a", a.GetResource(), "", operation, nil, false, a.GetUserInfo())
		}
		return a
	}
	for name, test := range map[string]struct {
		stored, written map[string]string
		deleted         bool
		want            func(error) bool
	}{
		"stays":                   {stored: value("yes"), written: value("yes")},
		"goes":                    {stored: value("yes")},
		"is corrected":            {stored: value("yes"), written: value("always")},
		"another wrong value":     {stored: value("yes"), written: value("no"), want: apierrors.IsInvalid},
		"is deleted":              {stored: value("yes"), deleted: true},
		"valid, another value":    {stored: value("always"), written: value("no"), want: apierrors.IsInvalid},
		"valid, goes":             {stored: value("always"), want: apierrors.IsBadRequest},
		"valid, is deleted":       {stored: value("always"), deleted: true, want: apierrors.IsConflict},
		"valid, stays":            {stored: value("always"), written: value("always")},
		"another annotation goes": {stored: map[string]string{"a": "b"}},
	} {
		a := attributes(admission.Update, configMap(test.written), configMap(test.stored))
		if test.deleted {
			a = attributes(admission.Delete, nil, configMap(test.stored))
		}
		err := plugin.Validate(t.Context(), a, nil)
		if test.want == nil && err != nil || test.want != nil && !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// all is an authorizer that allows everything.
type all struct{}

func (all) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// The server and its controllers have no verb, whatever their roles say.
func TestServerHasNoVerb(t *testing.T) {
	t.Parallel()
	plugin := keep.New(all{})
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{keep.Annotation: keep.Always}}}
	for name, allowed := range map[string]bool{"u": true, user.APIServerUser: false, authorship.ControllerUser: false} {
		a := admission.NewAttributesRecord(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, old, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			"default", "a", corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Update, nil, false, &user.DefaultInfo{Name: name})
		if err := plugin.Validate(t.Context(), a, nil); (err == nil) != allowed {
			t.Errorf("%s removes the annotation: %v", name, err)
		}
	}
}

// A write without the annotation costs two lookups.
func BenchmarkWriteWithoutAnnotation(b *testing.B) {
	plugin := keep.New(nobody{})
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"a": "b"}}}
	a := admission.NewAttributesRecord(object, object, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "default", "a",
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Update, nil, false, nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := plugin.Validate(b.Context(), a, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNamespace is the dry run of the deletion of a namespace: the server reads all its objects, to find kept ones.
func BenchmarkNamespace(b *testing.B) {
	for name, objects := range map[string]int{"0": 0, "1000": 1000} {
		b.Run("objects="+name, func(b *testing.B) {
			c := newNamespace(b)
			for range objects {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}, Data: map[string]string{"a": "b"}}
				if _, err := c.CoreV1().ConfigMaps(c.Namespace).Create(b.Context(), object, metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := c.delete(b, namespaces, c.Namespace, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
