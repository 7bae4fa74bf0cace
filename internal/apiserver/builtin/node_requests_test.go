package builtin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// act is one request of a node.
type act func(ctx context.Context, c kubernetes.Interface) error

func getConfigMap(namespace, name string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	}
}

func listConfigMaps(namespace string, options metav1.ListOptions) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps(namespace).List(ctx, options)
		return err
	}
}

func watchConfigMaps(namespace string, options metav1.ListOptions) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		w, err := c.CoreV1().ConfigMaps(namespace).Watch(ctx, options)
		if err == nil {
			w.Stop()
		}
		return err
	}
}

func patchConfigMap(name string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps("shop").Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		return err
	}
}

func deleteConfigMap(name string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		return c.CoreV1().ConfigMaps("shop").Delete(ctx, name, metav1.DeleteOptions{})
	}
}

func getSecret(name string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Secrets("shop").Get(ctx, name, metav1.GetOptions{})
		return err
	}
}

func listSecrets(options metav1.ListOptions) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Secrets("").List(ctx, options)
		return err
	}
}

func listPods(options metav1.ListOptions) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Pods("").List(ctx, options)
		return err
	}
}

func patchPod(name, patch string, subresources ...string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Pods("shop").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

func createPod(node string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		}}
		_, err := c.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{})
		return err
	}
}

func deletePod(name string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		return c.CoreV1().Pods("shop").Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
}

func token(account string, pod *corev1.Pod) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		request := &authenticationv1.TokenRequest{}
		if pod != nil {
			request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
		}
		_, err := c.CoreV1().ServiceAccounts("shop").CreateToken(ctx, account, request, metav1.CreateOptions{})
		return err
	}
}

func createNode(object metav1.ObjectMeta) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: object}, metav1.CreateOptions{})
		return err
	}
}

func patchNode(name, patch string, subresources ...string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

func createLease(namespace string, object metav1.ObjectMeta) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoordinationV1().Leases(namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: object}, metav1.CreateOptions{})
		return err
	}
}

func createEvent(namespace string, about *corev1.Pod) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "mine."},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: about.Namespace, Name: about.Name, UID: about.UID},
			Reason:         "FailedMount", Message: "configmap shop/x not found", Type: corev1.EventTypeWarning,
		}, metav1.CreateOptions{})
		return err
	}
}

func listEvents(namespace string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		return err
	}
}

func requestCertificate(node string) act {
	return func(ctx context.Context, c kubernetes.Interface) error {
		pkcs10, err := newPKCS10(pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}})
		if err != nil {
			return err
		}
		request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
		request.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName
		request.Spec.Request = pkcs10
		request.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
		_, err = c.CertificatesV1().CertificateSigningRequests().Create(ctx, request, metav1.CreateOptions{})
		return err
	}
}

// newPKCS10 returns a request for a certificate, in the form in which spec.request of a
// CertificateSigningRequest has it.
func newPKCS10(subject pkix.Name) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}
