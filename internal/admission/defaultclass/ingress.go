package defaultclass

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// ingressClass is the annotation that named the class of an Ingress before there was a
// field for it.
const ingressClass = "kubernetes.io/ingress.class"

// Ingress is the admission plugin DefaultIngressClass.
type Ingress struct {
	informed.Handler
	classes networkinglisters.IngressClassLister
}

var _ admission.MutationInterface = &Ingress{}

// NewIngress returns the plugin.
func NewIngress(classes networkinginformers.IngressClassInformer) *Ingress {
	return &Ingress{Handler: informed.NewHandler(classes.Informer().HasSynced, admission.Create), classes: classes.Lister()}
}

// Admit implements admission.MutationInterface.
func (p *Ingress) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != networkingv1.Resource("ingresses") || a.GetSubresource() != "" {
		return nil
	}
	ingress, ok := a.GetObject().(*networkingv1.Ingress)
	if !ok || ingress.Spec.IngressClassName != nil {
		return nil
	}
	if _, ok := ingress.Annotations[ingressClass]; ok {
		return nil
	}
	if err := p.Wait(a); err != nil {
		return err
	}
	classes, err := p.classes.List(labels.Everything())
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	if name := newest(classes, networkingv1.AnnotationIsDefaultIngressClass); name != "" {
		ingress.Spec.IngressClassName = &name
	}
	return nil
}
