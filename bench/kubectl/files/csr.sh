# csr.sh NAME: request a client certificate
[ -e key.pem ] || openssl ecparam -name prime256v1 -genkey -noout -out key.pem
kubectl apply -f - <<EOF
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $1}
spec:
  request: $(openssl req -new -key key.pem -subj /O=dev/CN=jane | base64 -w0)
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
EOF
