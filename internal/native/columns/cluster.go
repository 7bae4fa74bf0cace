package columns

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

var leases = table(name,
	text("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"], func(l *coordinationv1.Lease) string {
		return valueOr(l.Spec.HolderIdentity, "")
	}),
	age)

var storageClassDoc = storagev1.StorageClass{}.SwaggerDoc()

var storageClasses = table(
	text("Name", metadata["name"], func(c *storagev1.StorageClass) string {
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true" {
			return c.Name + " (default)"
		}
		return c.Name
	}).asName(),
	text("Provisioner", storageClassDoc["provisioner"], func(c *storagev1.StorageClass) string { return c.Provisioner }),
	text("ReclaimPolicy", storageClassDoc["reclaimPolicy"], func(c *storagev1.StorageClass) string {
		return valueOr(c.ReclaimPolicy, string(corev1.PersistentVolumeReclaimDelete))
	}),
	text("VolumeBindingMode", storageClassDoc["volumeBindingMode"], func(c *storagev1.StorageClass) string {
		return valueOr(c.VolumeBindingMode, string(storagev1.VolumeBindingImmediate))
	}),
	flag("AllowVolumeExpansion", storageClassDoc["allowVolumeExpansion"], func(c *storagev1.StorageClass) bool {
		return deref(c.AllowVolumeExpansion)
	}),
	age)

var priorityClassDoc = schedulingv1.PriorityClass{}.SwaggerDoc()

var priorityClasses = table(name,
	number("Value", priorityClassDoc["value"], func(c *schedulingv1.PriorityClass) int32 { return c.Value }),
	flag("Global-Default", priorityClassDoc["globalDefault"], func(c *schedulingv1.PriorityClass) bool { return c.GlobalDefault }),
	age,
	text("PreemptionPolicy", priorityClassDoc["preemptionPolicy"], func(c *schedulingv1.PriorityClass) string {
		return valueOr(c.PreemptionPolicy, "")
	}))

var runtimeClasses = table(name,
	text("Handler", nodev1.RuntimeClass{}.SwaggerDoc()["handler"], func(c *nodev1.RuntimeClass) string { return c.Handler }),
	age)

var signingRequestSpec = certificatesv1.CertificateSigningRequestSpec{}.SwaggerDoc()

var signingRequests = table(name,
	age,
	text("SignerName", signingRequestSpec["signerName"], func(r *certificatesv1.CertificateSigningRequest) string {
		return stringOr(r.Spec.SignerName, none)
	}),
	text("Requestor", signingRequestSpec["username"], func(r *certificatesv1.CertificateSigningRequest) string {
		return r.Spec.Username
	}),
	text("RequestedDuration", signingRequestSpec["expirationSeconds"], func(r *certificatesv1.CertificateSigningRequest) string {
		if r.Spec.ExpirationSeconds == nil {
			return none
		}
		return duration.HumanDuration(time.Duration(*r.Spec.ExpirationSeconds) * time.Second)
	}),
	text("Condition", certificatesv1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"], signingState))

func signingState(r *certificatesv1.CertificateSigningRequest) string {
	is := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range r.Status.Conditions {
		is[c.Type] = true
	}
	state := "Pending"
	switch {
	case is[certificatesv1.CertificateDenied]:
		state = "Denied"
	case is[certificatesv1.CertificateApproved]:
		state = "Approved"
	}
	if is[certificatesv1.CertificateFailed] {
		state += ",Failed"
	}
	if len(r.Status.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}

var trustBundles = table(name,
	text("SignerName", certificatesv1.ClusterTrustBundleSpec{}.SwaggerDoc()["signerName"],
		func(b *certificatesv1.ClusterTrustBundle) string { return stringOr(b.Spec.SignerName, none) }))
