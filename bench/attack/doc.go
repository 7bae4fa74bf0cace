// Package attack measures how a server protects its clients from a user that sends bodies slowly.
//
// The attacker is a user without rights. It sends requests that every user may send, with bodies of which one byte arrives per
// second, and opens a new request for each that the server ends. Meanwhile three other clients go on: a user that creates
// ConfigMaps, a node that renews its Lease, and a controller that creates ConfigMaps. Kubernetes puts the user into the priority
// level of the attacker, and the node and the controller into levels of their own.
//
// Each client sends its requests at fixed times, whether or not the server has answered the earlier ones, and does not repeat a
// request that was refused. So a server that stops answering does not get fewer requests.
package attack
