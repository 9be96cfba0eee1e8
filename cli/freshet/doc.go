// Command freshet runs Freshet: the local platform, its gateway, the demo and the benchmarks.
package main
