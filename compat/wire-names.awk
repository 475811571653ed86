# SPDX-License-Identifier: GPL-2.0
#
# Print the names that a preprocessed file has of the wire headers (layouts of firmware commands and
# of libmlx5's requests), one a line: "struct NAME", "struct NAME MEMBER" and "enum NAME". A member
# that is an array without a length ends with [], and a member that is a struct or a union itself
# with {}. Members of an unnamed struct or union count as members of the struct around it. Of the
# other headers of mlx5_core, print "struct NAME", and "within struct NAME" for a struct of the wire
# whose size a member has, such as a copy of a register.

/^# [0-9]+ "/ {
	wire = /\/mlx5_ifc(_fpga)?\.h"|\/mlx5-abi\.h"/
	core = /\/linux\/mlx5\/[a-z0-9_]*\.h"/
	next
}
core && !wire && /^struct mlx5_[a-z0-9_]+ [{]/ { print $1 " " $2; body = 1 }
/^[}]/ { body = 0 }
body && !wire {
	while (match($0, /(struct|union) mlx5_ifc_[a-z0-9_]+/)) {
		print "within " substr($0, RSTART, RLENGTH)
		$0 = substr($0, RSTART + RLENGTH)
	}
}
!wire { next }
{ sub(/__attribute__.*/, ";") }
depth == 0 && /^(struct|union) [a-z0-9_]+ [{]/ {
	type = $1 " " $2
	depth = 1
	count = 0
	next
}
depth == 0 && /^enum.*[{]/ { enumerators = 1; next }
enumerators && /[}]/ { enumerators = 0; next }
enumerators && match($0, /^ *[A-Z][A-Za-z0-9_]*/) {
	name = substr($0, RSTART, RLENGTH)
	gsub(/ /, "", name)
	print "enum " name
	next
}
depth == 0 { next }
/[{] *$/ { start[++depth] = count; next }
/^[ \t]*[}]/ {
	if (depth == 1) {
		print type
		for (i = 1; i <= count; i++)
			print type " " member[i]
	} else if (match($0, /[a-z_][a-z0-9_]*/)) {
		# The struct or union has a name: it counts as one member.
		count = start[depth]
		member[++count] = substr($0, RSTART, RLENGTH) "{}"
	}
	depth--
	next
}
/:[ 0-9]+;/ { next }
match($0, /[A-Za-z_][A-Za-z0-9_]*(\[[^;]*)?;/) {
	name = substr($0, RSTART, RLENGTH)
	kind = name ~ /\[(0|0x0)?\]/ ? "[]" : $1 ~ /^(struct|union)$/ ? "{}" : ""
	sub(/[\[;].*/, "", name)
	if (name !~ /^reserved/)
		member[++count] = name kind
}
