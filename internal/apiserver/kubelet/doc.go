// Package kubelet serves the subresources that the server does not answer itself but forwards:
// log, exec, attach and portforward of a pod and proxy of a node go to the kubelet of the node,
// proxy of a pod and of a service go to the pod.
//
//	kubelets, err := kubelet.New(config, client)
//	resources["pods/exec"] = kubelets.Exec(pods, authorizer)
//
// The address of a kubelet comes from the status of its Node, in the order of the address types in
// the configuration. The server authenticates with a client certificate. It verifies the kubelet if
// the configuration has an authority, as in Kubernetes.
//
// A user that may write the address of a Node or of a Pod must not reach hosts that only the server
// can reach. So the server never connects to a link-local address nor to that of a cloud's metadata service, and a
// proxy connects to global unicast addresses only. The server checks the address when it opens the connection,
// after it has resolved the name. It uses no HTTP proxy, and follows no redirect.
//
// If a kubelet does not answer, the response is a Status with code 502 that names the node.
package kubelet
