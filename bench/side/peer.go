package side

import (
	"path/filepath"
	"strconv"
	"time"
)

// quota is the largest database of etcd, in bytes. It is the most that etcd recommends, and the one of Holdfast's etcd.
const quota = 8 << 30

// Peer runs kube-apiserver and etcd, two programs of a directory. The flags are those of a usual installation; everything else,
// such as the limits of requests and the admission plugins, is the default, unless further flags change it.
func Peer(binaries string, flags ...string) Side {
	return Side{Name: "kube-apiserver", start: func(dir string) (*Server, error) {
		ports, err := FreePorts(3)
		if err != nil {
			return nil, err
		}
		files, err := writeFiles(filepath.Join(dir, "pki"))
		if err != nil {
			return nil, err
		}
		etcdURL, etcdPeerURL := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
		s := &Server{url: "https://127.0.0.1:" + ports[2], etcdURL: etcdURL}
		started := time.Now()
		etcd, err := startProcess(dir, filepath.Join(binaries, "etcd"), "--data-dir", filepath.Join(dir, "etcd"),
			"--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL, "--listen-peer-urls", etcdPeerURL,
			"--initial-advertise-peer-urls", etcdPeerURL, "--initial-cluster", "default="+etcdPeerURL,
			"--quota-backend-bytes", strconv.Itoa(quota), "--enable-pprof")
		if err != nil {
			return nil, err
		}
		s.processes = append(s.processes, etcd)
		apiserver, err := startProcess(dir, filepath.Join(binaries, "kube-apiserver"), append([]string{
			"--etcd-servers", etcdURL, "--bind-address", "127.0.0.1", "--secure-port", ports[2],
			"--tls-cert-file", files.servingCert, "--tls-private-key-file", files.servingKey, "--client-ca-file", files.authority,
			"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", files.tokenKey,
			"--service-account-signing-key-file", files.tokenKey, "--authorization-mode", "Node,RBAC",
			"--service-cluster-ip-range", "10.96.0.0/16",
		}, flags...)...)
		if err != nil {
			return s, err
		}
		s.processes = append(s.processes, apiserver)
		return s, s.waitReady(started, func() (*authority, error) { return files.issuer, nil })
	}}
}
