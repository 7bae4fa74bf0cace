// Package serviceip allocates cluster IPs and node ports to Services.
//
//	ranges, err := serviceip.Ranges{}.WithDefaults()
//	allocator := serviceip.New(serviceip.Config{Ranges: ranges, Services: services, Addresses: addresses, PortClaims: ports})
//	go allocator.Run(ctx)
//
// Its words: a claim is an object in etcd that records which Service holds a value,
// a cluster IP or a node port. The claims of cluster IPs are the IPAddress objects of
// the API. An allocation claims the values that one Service lacks, when it is created
// or updated; deleting the Service releases them. A repair removes claims without a
// Service and adds claims that are missing.
//
// Several servers may share one etcd; none allocates a value twice.
package serviceip
