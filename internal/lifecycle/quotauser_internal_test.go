package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/admission/quota"
	"holdfast.dev/holdfast/internal/replacement"
)

// act does one thing that a user or a kubelet does.
func (s *quotaRun) act(ctx context.Context, r *rand.Rand) string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	uids := slices.Sorted(maps.Keys(s.store.objects))
	if len(uids) == 0 || r.IntN(2) == 0 {
		o := s.newObject(r)
		s.begin(ctx, o, nil, s.servers[r.IntN(len(s.servers))])
		return "creates " + text(o)
	}
	o := s.store.objects[uids[r.IntN(len(uids))]]
	switch n := r.IntN(10); {
	case n < 6:
		s.store.set(o, nil, time.Now())
		return "deletes " + text(o)
	case n < 8 && o.pod != nil && o.pod.Status.Phase == "":
		finished := &modelObject{pod: o.pod.DeepCopy()}
		finished.pod.Status.Phase = corev1.PodSucceeded
		s.store.set(o, finished, time.Now())
		return "finishes " + text(o)
	case n < 9 && o.pod != nil && s.store.replaces:
		created := s.newPod(r)
		created.pod.Name = o.pod.Name
		s.begin(ctx, created, o, s.servers[r.IntN(len(s.servers))])
		return "replaces " + text(o) + " by " + text(created)
	case n == 9 && s.store.quota.Spec.Hard.Pods().Value() < 6:
		raised := s.store.quota.DeepCopy()
		for name, quantity := range raised.Spec.Hard {
			quantity.Add(resource.MustParse("1"))
			raised.Spec.Hard[name] = quantity
		}
		s.store.put(raised)
		return "raises the quota"
	}
	return ""
}

func text(o *modelObject) string {
	return fmt.Sprintf("%s with %s", o.uid(), quantities(o.usage()))
}

func (s *quotaRun) newObject(r *rand.Rand) *modelObject {
	if r.IntN(3) > 0 {
		return s.newPod(r)
	}
	return &modelObject{secret: &corev1.Secret{ObjectMeta: s.newMeta("secret")}}
}

func (s *quotaRun) newPod(r *rand.Rand) *modelObject {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse([]string{"250m", "500m", "1"}[r.IntN(3)])}
	return &modelObject{pod: &corev1.Pod{
		ObjectMeta: s.newMeta("pod"),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}}
}

func (s *quotaRun) newMeta(kind string) metav1.ObjectMeta {
	s.store.created++
	name := fmt.Sprintf("%s-%d", kind, s.store.created)
	return metav1.ObjectMeta{Namespace: quotaNamespace, Name: name, UID: types.UID(name)}
}

// begin sends the request that creates an object, in place of another one if that is not nil.
func (s *quotaRun) begin(ctx context.Context, created, old *modelObject, server *quota.Admission) {
	since := time.Now()
	s.store.pending[created.uid()] = since
	go func() {
		answer := s.request(ctx, created, old, server)
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		s.answers = append(s.answers, answer)
		delete(s.store.pending, created.uid())
	}()
}

// request charges the quota, and then stores the object, unless the server rejects it for another reason.
func (s *quotaRun) request(ctx context.Context, created, old *modelObject, server *quota.Admission) string {
	var obj runtime.Object = created.pod
	kind, resource := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
	if created.pod == nil {
		obj, kind, resource = created.secret, corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithResource("secrets")
	}
	if old != nil {
		ctx = replacement.With(ctx, &replacement.Swap{Resource: resource.GroupResource(), Old: old.pod})
	}
	attributes := admission.NewAttributesRecord(
		obj, nil, kind, quotaNamespace, string(created.uid()), resource, "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{})
	switch err := server.Validate(ctx, attributes, nil); {
	case apierrors.IsForbidden(err):
		return "refuses " + text(created)
	case err != nil:
		return "fails to charge " + text(created)
	}
	random, err := s.world.Wait(ctx, "stores "+text(created))
	if err != nil || random != nil && random.IntN(6) == 0 {
		return "rejects " + text(created) + ", which is charged"
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if old != nil && s.store.objects[old.uid()] != old {
		return "rejects " + text(created) + ", because " + string(old.uid()) + " has changed"
	}
	s.store.set(old, created, s.store.pending[created.uid()])
	return "stores " + text(created)
}
