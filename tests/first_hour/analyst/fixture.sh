#!/bin/bash
# bash fixture.sh DIR : makes a small apiary-study project in DIR (which must not exist)
set -e
D=${1:?usage: fixture.sh DIR}
if [ -e "$D" ]; then echo "fixture.sh: $D exists already" >&2; exit 1; fi
umask 022
export LC_ALL=C TZ=UTC GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
mkdir -p "$D"; cd "$D"
mkdir -p data/raw docs logs scripts archive photos scratch incoming

# ---------- data
cat > data/hives.csv <<'E'
hive,name,location,queen_year,frames
H01,Amber,orchard,2021,10
H02,Basil,meadow,2022,8
H03,Clover,rooftop,2020,12
H04,Dahlia,orchard,2023,10
H05,Elder,forest,2018,9
H06,Fennel,meadow,2021,11
H07,Ginger,rooftop,2022,7
H08,Hazel,orchard,2023,10
H09,Iris,forest,2019,12
H10,Juniper,orchard,2021,8
H11,Kale,orchard,2022,10
H12,Lavender,rooftop,2020,9
E
awk 'BEGIN{print "year,hive,kg"; for(y=2022;y<=2023;y++) for(h=1;h<=12;h++) printf "%d,H%02d,%d\n",y,h,14+(h*7+(y-2020)*5)%23}' > data/harvest.csv
awk 'BEGIN{print "date,hive,weight_kg"; for(m=1;m<=12;m++) for(h=1;h<=12;h++) printf "2023-%02d-15,H%02d,%.1f\n",m,h,30+(h*13+m*7)%19+((h*m)%10)/10}' > data/weights_2023.csv
awk 'BEGIN{print "date,hive,weight_kg"; for(m=1;m<=6;m++) for(h=1;h<=12;h++) printf "2024-%02d-15,H%02d,%.1f\n",m,h,31+(h*11+m*5)%17+((h+m)%10)/10}' > data/weights_2024.csv
: > data/missing.csv
for d in 1 2 3; do awk -v d=$d 'BEGIN{for(i=0;i<24;i++) printf "2024-06-%02d %02d:00 %.1f\n",d,i,12+(i*d)%11+i/10}' > data/raw/day$d.txt; done
awk 'BEGIN{for(i=0;i<65536;i++) printf "%047d\n",(i*7919)%65536}' > data/raw/sensor_dump.bin   # 3145728 bytes
ln -s data/weights_2024.csv latest.csv

# ---------- documents
cat > README.txt <<'E'
Hive Study 2022-2024
====================
Weights, harvest and weather of twelve bee hives.
data/     tables as CSV, raw sensor output in data/raw
docs/     thesis draft, interviews, notes
logs/     what the weather station and the upload wrote
scripts/  small helpers
Contact: Mira Holt, mira@hives.example
E
cat > "docs/thesis draft.txt" <<'E'
Chapter 1  Introduction
Honey bees gain weight in late spring and lose it over winter.
Chapter 2  Data
Twelve hives were weighed once a month.
Chapter 3  Results
(to be written)
E
cat > docs/method.md <<'E'
# Method

Every hive stands on a scale. The scale is read on the 15th of each month.
Hives with more than three percent varroa load were treated and left out.

## Statistics

We use the mean and the median of the monthly weight.
E
cat > docs/interview_anna.txt <<'E'
Q: How long have you kept bees?
A: Since 2009, first on the rooftop, later in the orchard.
Q: What was the best year?
A: 2018, the lime trees did not stop flowering.
E
cat > docs/interview_bruno.txt <<'E'
Q: What worries you most?
A: The varroa mite, every autumn again.
Q: And the weather?
A: Wet springs are bad, dry summers are worse.
E
cat > docs/glossary.txt <<'E'
brood    eggs, larvae and pupae
propolis resin used as glue
swarm    half the colony leaving with the old queen
varroa   a parasitic mite
E
printf '%s\n' willow clover linden acacia rapeseed heather dandelion borage phacelia chestnut buckwheat lavender > docs/species.txt
cat > docs/todo.txt <<'E'
[ ] inspect hive H07 scale
[ ] order new frames
[x] label jars
E
# ---------- logs
awk 'BEGIN{for(i=1;i<=240;i++){ l="INFO"; m="reading ok";
 if(i%17==0){l="ERROR";m="no reply"} else if(i%11==0){l="WARN";m="low battery"}
 s=(i*5)%12+1; if(l=="ERROR"&&i%34!=0) s=7;
 printf "2024-06-%02d %02d:%02d:00 %s sensor H%02d %s\n",1+int(i/48),int(i/2)%24,(i%2)*30,l,s,m}}' > logs/station.log
cat > logs/upload.log <<'E'
2024-06-01 03:00:02 upload weights_2024.csv ok
2024-06-02 03:00:01 upload weights_2024.csv timeout after 30 s
2024-06-03 03:00:02 upload weights_2024.csv ok
E
# ---------- scripts
cat > scripts/mean_weight.sh <<'E'
#!/bin/bash
# mean of the third column
awk -F, 'NR>1{s+=$3;n++} END{printf "%.2f\n", s/n}' "$1"
E
cat > scripts/clean.sh <<'E'
#!/bin/bash
# strip carriage returns
sed 's/\r$//' "$1"
E
cat > scripts/nightly.sh <<'E'
#!/bin/bash
echo "nightly upload of $(date +%F)"
E
cat > scripts/monthly.awk <<'E'
BEGIN { FS="," }
NR>1 { m=substr($1,1,7); s[m]+=$3; n[m]++ }
END { for (m in s) print m, s[m]/n[m] }
E
# ---------- photos (stand-ins), scratch, hidden
for i in 1 2 3 4 6; do { printf '\377\330\377\340 picture %d\n' $i; awk -v i=$i 'BEGIN{for(k=0;k<200*i;k++) printf "%d",(k*i)%7}'; } > photos/IMG_00$i.jpg; done
cp photos/IMG_002.jpg photos/IMG_005.jpg
echo "scratch 1" > scratch/calc1.tmp; echo "scratch 2" > scratch/calc2.tmp; echo "scratch 3" > scratch/plot.tmp
echo "keep: scale 7 reads 0.4 kg too high" > scratch/offsets.txt
printf 'station=north\ninterval=10\nretries=10\nupload=yes\n' > .hive.conf
printf 'gate code is on the blue card\n' > .notes_private
printf '*.bin\n*.tmp\nlogs/\n' > .gitignore
# ---------- archives
T=$(mktemp -d)
mkdir -p "$T/photos_2022" "$T/old_survey"
for n in swarm_may honeycomb winter_cover; do echo "picture $n" > "$T/photos_2022/$n.jpg"; done
printf 'id,answer\n1,yes\n2,no\n3,yes\n' > "$T/old_survey/answers.csv"
printf '1. Do you keep bees?\n' > "$T/old_survey/questions.txt"
for a in photos_2022 old_survey; do tar -C "$T" --sort=name --mtime='2022-12-01 00:00Z' --owner=0 --group=0 --numeric-owner -cf - $a | gzip -n > archive/$a.tar.gz; done
rm -rf "$T"
chmod 644 scripts/mean_weight.sh scripts/monthly.awk; chmod 755 scripts/clean.sh scripts/nightly.sh
find . -exec touch -h -d '2024-06-10 09:00:00Z' {} +

# ---------- history
git -c init.defaultBranch=main init -q
git config user.name "Mira Holt"; git config user.email mira@hives.example
git config commit.gpgsign false; git config gc.auto 0
c() { # name mail date message
  GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$2 GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=$2 \
  GIT_AUTHOR_DATE="$3 +0000" GIT_COMMITTER_DATE="$3 +0000" git commit -q -m "$4"; }
M="Mira Holt"; MM=mira@hives.example; J="Jonas Beck"; JM=jonas@hives.example
git add README.txt .gitignore;                                c "$M" $MM "2024-01-08T09:12:00" "Start the hive study"
git add data/hives.csv data/harvest.csv;                      c "$M" $MM "2024-01-15T10:30:00" "Add hive list and harvest table"
git add data/weights_2023.csv data/missing.csv;               c "$M" $MM "2024-02-02T14:05:00" "Add weights of 2023"
git branch winter-model
git add scripts;                                              c "$J" $JM "2024-03-11T16:40:00" "Add helper scripts"
git add docs archive;                                         c "$M" $MM "2024-04-19T08:55:00" "Add interviews and method"
git tag v0.1
git add photos .hive.conf .notes_private scratch/offsets.txt; c "$M" $MM "2024-05-20T11:20:00" "Add photos and station settings"
git add data latest.csv;                                      c "$J" $JM "2024-06-10T17:45:00" "Add weights of 2024"
# ---------- uncommitted
sed -i 's/^\[ \] inspect/[x] inspect/' docs/todo.txt
printf 'H03 very calm today\nH07 scale shows 0.4 kg too much\n' > docs/field_notes.txt
touch -d '2024-06-12 18:00:00Z' docs/todo.txt; touch -d '2024-06-14 07:30:00Z' docs/field_notes.txt
