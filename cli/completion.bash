# SPDX-License-Identifier: Apache-2.0
# Completion for antiphase in bash.  It reads the help that the programs print
# from their own tables of verbs and options, so it cannot drift from them.
_antiphase()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local verbs=() i=1 help words=

	# "--policy=f" comes as three words.
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	[ "${COMP_WORDS[1]}" != help ] || [ "$COMP_CWORD" = 1 ] || i=2
	# What is asked for help is the verbs alone: an option might take "--help" for
	# its value, and then something would be run.
	for (( ; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} =~ ^[a-z]+(-[a-z]+)*$ ]] || break
		[ ${#verbs[@]} -lt 3 ] || break
		"${COMP_WORDS[0]}" "${verbs[@]}" --help 2>/dev/null |
			grep -q "^  ${COMP_WORDS[i]} " || break
		verbs+=("${COMP_WORDS[i]}")
	done
	help=$("${COMP_WORDS[0]}" "${verbs[@]}" --help 2>/dev/null)

	if [[ $before == -* ]]; then
		words=$(awk -v option="$before" '
			/^  -/ { mine = 0
				 for (f = 1; f <= 2; f++)
					if ($f == option || $f == option ",") mine = 1 }
			mine && /^ +one of:/ { sub(/^ +one of:/, ""); print }' <<<"$help")
	fi
	if [ -z "$words" ] && [[ $word == -* ]]; then
		words=$(grep -oE '^  (-., )?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+')
	elif [ -z "$words" ] && [ "$i" = "$COMP_CWORD" ]; then
		words=$(awk '/^Examples/ { exit } /^  [a-z]/ && !told[$1]++ { print $1 }' <<<"$help")
	fi
	# shellcheck disable=SC2207  # words have no blanks
	COMPREPLY=($(compgen -W "$words" -- "$word"))
	[ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}
complete -F _antiphase antiphase
