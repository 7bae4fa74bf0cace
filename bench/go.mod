module holdfast.dev/holdfast/bench

go 1.26.0
