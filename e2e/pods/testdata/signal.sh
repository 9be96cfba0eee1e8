# signal NUMBER POD_UID NAME…: signals the processes of a pod that have one of the names. One that ends with another is no failure.
number=$1 pod=$2
shift 2
escaped=$(echo "$pod" | sed 's/-/_/g') # so systemd names the control group
signalled=0
for process in /proc/[0-9]*; do
	{ read -r name <"$process/comm"; } 2>/dev/null || continue
	for wanted; do
		[ "$name" = "$wanted" ] || continue
		case $(cat "$process/cgroup" 2>/dev/null || true) in
		*"pod$pod"* | *"pod$escaped"*)
			kill "-$number" "${process#/proc/}" 2>/dev/null || true
			signalled=$((signalled + 1))
			;;
		esac
	done
done
if [ "$signalled" = 0 ]; then
	echo "no process $* of pod $pod is on this node"
	exit 1
fi
